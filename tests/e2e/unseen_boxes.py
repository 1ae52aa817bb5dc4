# SPDX-License-Identifier: Apache-2.0
#
# Detectors for unseen.py: torchvision's SSD, FCOS, RetinaNet, Faster and Mask R-CNN on small trunks, whose boxes are chosen in the
# model; and YOLO's tables, whose boxes are chosen here. What is compared are detections: a box of the float model is found again
# where a box of the same class overlaps it by half.
import numpy
import torch
from torch import nn
from torchvision.models.detection import FCOS, FasterRCNN, MaskRCNN, RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
from torchvision.models.detection.ssd import SSD
from torchvision.ops import MultiScaleRoIAlign, batched_nms

SIDE, CLASSES, WIDTH = 96, 5, 64
MIN_OVERLAP, MIN_SCORE, MOST = 0.5, 0.3, 20
ANCHORS = {"rpn_anchor_generator": AnchorGenerator(((16, 32),), ((0.5, 1.0, 2.0),))}


def unit(i, o, stride):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Trunk(nn.Module):
    """Features at strides 8 and 16, or at 8 alone."""

    def __init__(self, levels):
        super().__init__()
        self.out_channels, self.levels = WIDTH, levels
        self.low = nn.Sequential(unit(3, 24, 2), unit(24, 32, 1), unit(32, WIDTH, 2), unit(WIDTH, WIDTH, 1), unit(WIDTH, WIDTH, 2))
        self.high = unit(WIDTH, WIDTH, 2)

    def forward(self, x):
        low = self.low(x)
        return {"0": low, "1": self.high(low)} if self.levels == 2 else {"0": low}


def pyramid():
    """One anchor a place and level."""
    return AnchorGenerator(((16,), (32,)), ((1.0,),) * 2)


def make_ssd():
    trunk = Trunk(2)
    trunk.out_channels = [WIDTH] * 2  # as it asks for it
    return SSD(trunk, DefaultBoxGenerator([[2], [2]]), (SIDE, SIDE), CLASSES, score_thresh=MIN_SCORE, detections_per_img=MOST, topk_candidates=40)


def make_levels(kind, **words):
    return lambda: kind(Trunk(2), CLASSES, min_size=SIDE, max_size=SIDE, anchor_generator=pyramid(), score_thresh=MIN_SCORE,
                        detections_per_img=MOST, topk_candidates=40, **words)


def make_rcnn(mask):
    def make():
        words = dict(ANCHORS, min_size=SIDE, max_size=SIDE, box_score_thresh=MIN_SCORE, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20,
                     box_detections_per_img=MOST, box_roi_pool=MultiScaleRoIAlign(["0"], 5, 2), box_head=TwoMLPHead(WIDTH * 25, 64),
                     box_predictor=FastRCNNPredictor(64, CLASSES))
        if not mask:
            return FasterRCNN(Trunk(1), **words)
        return MaskRCNN(Trunk(1), mask_roi_pool=MultiScaleRoIAlign(["0"], 8, 2), mask_head=MaskRCNNHeads(WIDTH, (32, 32), 1),
                        mask_predictor=MaskRCNNPredictor(32, 32, CLASSES), **words)
    return make


def settle(net, inputs):
    """Statistics of the trunk are those of the inputs; drawn heads say nearly the same of every place, these do not."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    draw_heads(net)
    with torch.no_grad():
        for _ in range(3):
            net.train().backbone(net.transform(inputs)[0].tensors)
    return net.eval()


# name: what makes it
DETECTORS = {"tv_ssd": make_ssd, "tv_fcos": make_levels(FCOS), "tv_retinanet": make_levels(RetinaNet), "tv_faster_rcnn": make_rcnn(False),
             "tv_mask_rcnn": make_rcnn(True)}


def with_objects(table):
    """Of [places, 4 + 1 + classes], as version 5 of YOLO has it: a class's score is that of an object, times its own."""
    table = table.transpose()
    return numpy.concatenate([table[:4], table[4:5] * table[5:]])


# Networks of unseen_nets.py and unseen_cnns.py whose output is such a table, and what makes [4 + classes, places] of it.
TABLES = {"yolo_silu": numpy.asarray, "yolo_leaky": numpy.asarray, "yolo_anchors": with_objects}


def draw_heads(net):
    """Heads as they are drawn by default give every place nearly the same score, so that any error changes their order; these do not."""
    for module in net.modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.normal_(module.weight, 0, 1.2 / module.weight[0].numel() ** 0.5)
            nn.init.zeros_(module.bias)


def boxes_of_table(table):
    """Of [4 + classes, places], centres and sizes first: corners, classes and scores of the boxes that stay."""
    x, y, w, h = torch.from_numpy(table[:4])
    scores, kinds = torch.from_numpy(table[4:]).max(0)
    kept = batched_nms(torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1), scores, kinds, 0.5)
    kept = kept[scores[kept] > MIN_SCORE][:MOST]
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)[kept].numpy(), kinds[kept].numpy(), scores[kept].numpy()


def overlaps(a, b):
    low = numpy.maximum(a[:, None, :2], b[None, :, :2])
    high = numpy.minimum(a[:, None, 2:], b[None, :, 2:])
    both = numpy.prod(numpy.maximum(high - low, 0), 2)
    area = lambda c: numpy.prod(c[:, 2:] - c[:, :2], 1)  # noqa: E731
    return both / numpy.maximum(area(a)[:, None] + area(b)[None] - both, 1e-9)


def with_area(found):
    """Without the boxes that are cut off at the picture's border to nothing, which overlap nothing, not even themselves."""
    kept = numpy.prod(found[0][:, 2:] - found[0][:, :2], 1) > 0
    return tuple(part[kept] for part in found)


def count_found(real, got):
    """Boxes of both, and how many of them have a partner in the other; each is (boxes, classes, scores)."""
    real, got = with_area(real), with_area(got)
    if len(real[0]) == 0 or len(got[0]) == 0:
        return len(real[0]) + len(got[0]), 0
    shares = overlaps(real[0], got[0]) * (real[1][:, None] == got[1][None])
    found = 0
    while shares.max() >= MIN_OVERLAP:
        i, k = numpy.unravel_index(shares.argmax(), shares.shape)
        shares[i], shares[:, k] = 0, 0
        found += 1
    return len(real[0]) + len(got[0]), 2 * found
