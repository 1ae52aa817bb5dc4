# SPDX-License-Identifier: Apache-2.0
#
# More convolutional networks for unseen.py, in the forms of published ones: channels that fill no blocks, several heads, sizes that a Shape
# decides, 1-D and 3-D convolutions. unseen_nets.py has the first forty and the parts that both are made of.
import torch
import torch.nn.functional as F
from torch import nn
from unseen_nets import PICTURE, Call, conv, gate, head, residual


def eca(width):
    """Efficient channel attention: a 1-D convolution over the channels' means."""
    return Call(lambda m, x: x * torch.sigmoid(m[0](F.adaptive_avg_pool2d(x, 1).squeeze(-1).transpose(1, 2))).transpose(1, 2).unsqueeze(-1),
                nn.Conv1d(1, 1, 3, padding=1, bias=False))


def eca_net():
    return nn.Sequential(conv(3, 20, s=2), residual(conv(20, 20), eca(20)), conv(20, 36, s=2), residual(conv(36, 36), eca(36)), head(36))


class ChannelsLast(nn.Module):
    """ConvNeXt's block: LayerNorm and dense layers over channels that stand last, a factor for each."""

    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.factor = nn.Parameter(0.1 + torch.rand(width))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.factor * self.shrink(F.gelu(self.grow(y)))).permute(0, 3, 1, 2)


class PlaneLayerNorm(nn.Module):
    """LayerNorm of channels that stand first."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(width) + 0.5), nn.Parameter(torch.randn(width) * 0.1)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        square = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight[:, None, None] * ((x - mean) / torch.sqrt(square + 1e-6)) + self.bias[:, None, None]


def convnext():
    return nn.Sequential(nn.Conv2d(3, 24, 4, 4), PlaneLayerNorm(24), ChannelsLast(24), ChannelsLast(24), PlaneLayerNorm(24), nn.Conv2d(24, 40, 2, 2),
                         ChannelsLast(40), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(40), nn.Linear(40, 10))


class ResponseNorm(nn.Module):
    """ConvNeXt V2: each channel's length beside the mean length."""

    def __init__(self, width):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.rand(1, width, 1, 1)), nn.Parameter(torch.randn(1, width, 1, 1) * 0.1)

    def forward(self, x):
        length = torch.norm(x, p=2, dim=(2, 3), keepdim=True)
        return self.gamma * (x * (length / (length.mean(1, keepdim=True) + 1e-6))) + self.beta + x


def convnext_v2():
    unit = lambda c: residual(nn.Conv2d(c, c, 7, padding=3, groups=c), nn.BatchNorm2d(c), nn.Conv2d(c, 3 * c, 1), nn.GELU(), ResponseNorm(3 * c), nn.Conv2d(3 * c, c, 1))  # noqa: E731
    return nn.Sequential(conv(3, 20, 4, 4), unit(20), unit(20), conv(20, 40, s=2), unit(40), head(40))


def inception():
    """Windows of one row or column, and pools, joined."""
    branch = lambda i, o, k: nn.Sequential(nn.Conv2d(i, o, (1, k), padding=(0, k // 2)), nn.ReLU(), nn.Conv2d(o, o, (k, 1), padding=(k // 2, 0)), nn.ReLU())  # noqa: E731
    unit = lambda i: Call(lambda m, x: torch.cat([m[0](x), m[1](x), m[2](x), m[3](F.avg_pool2d(x, 3, 1, 1))], 1), conv(i, 13, 1), branch(i, 11, 7),  # noqa: E731
                          branch(i, 9, 3), conv(i, 7, 1))
    less = Call(lambda m, x: torch.cat([m[0](x), F.max_pool2d(x, 3, 2)], 1), nn.Sequential(nn.Conv2d(40, 20, 3, 2), nn.ReLU()))
    return nn.Sequential(conv(3, 19, s=2), unit(19), unit(40), less, head(60))


class Pyramid(nn.Module):
    """EfficientDet's weighted sums of levels, up and down, with heads that all levels share."""

    def __init__(self, width=20):
        super().__init__()
        swish = nn.SiLU
        self.a, self.b, self.c, self.d = conv(3, 16, s=2, act=swish()), conv(16, width, s=2, act=swish()), conv(width, width, s=2, act=swish()), conv(width, width, s=2, act=swish())
        self.two, self.three = nn.Parameter(torch.rand(4, 2)), nn.Parameter(torch.rand(1, 3))
        self.mix = nn.ModuleList([nn.Sequential(conv(width, width, g=width, act=nn.Identity(), norm=None), conv(width, width, 1, act=nn.Identity())) for _ in range(5)])
        self.classes = nn.Sequential(conv(width, width, act=swish()), nn.Conv2d(width, 12, 3, padding=1))
        self.boxes = nn.Sequential(conv(width, width, act=swish()), nn.Conv2d(width, 8, 3, padding=1))

    def add(self, i, weights, *levels):
        w = F.relu(weights)
        w = w / (w.sum() + 1e-4)
        return self.mix[i](F.silu(sum(w[k] * level for k, level in enumerate(levels))))

    def forward(self, x):
        p3 = self.b(self.a(x))
        p4 = self.c(p3)
        p5 = self.d(p4)
        q4 = self.add(0, self.two[0], p4, F.interpolate(p5, scale_factor=2, mode="nearest"))
        q3 = self.add(1, self.two[1], p3, F.interpolate(q4, scale_factor=2, mode="nearest"))
        r4 = self.add(2, self.three[0], p4, q4, F.max_pool2d(q3, 3, 2, 1))
        r5 = self.add(3, self.two[2], p5, F.max_pool2d(r4, 3, 2, 1))
        rows = lambda part, n: torch.cat([part(p).permute(0, 2, 3, 1).reshape(1, -1, n) for p in (q3, r4, r5)], 1)  # noqa: E731
        return torch.sigmoid(rows(self.classes, 6)), rows(self.boxes, 4)


class Keypoints(nn.Module):
    """Heat maps, and the mean place of each under a softmax."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(3, 18, s=2), conv(18, 26, s=2), residual(conv(26, 26), conv(26, 26)), nn.ConvTranspose2d(26, 18, 4, 2, 1), nn.ReLU())
        self.maps = nn.Conv2d(18, 7, 1)

    def forward(self, x):
        y = self.maps(self.body(x))
        h, w = y.shape[2:]
        share = torch.softmax(y.flatten(2), -1).view(1, -1, h, w)
        across = (share.sum(2) * torch.linspace(0, 1, w)).sum(-1)
        down = (share.sum(3) * torch.linspace(0, 1, h)).sum(-1)
        return torch.stack([across, down], -1)


def audio():
    """One-dimensional: a wide first window, pools, a mean over time."""
    unit = lambda i, o, k, s: nn.Sequential(nn.Conv1d(i, o, k, s, k // 2), nn.BatchNorm1d(o), nn.ReLU())  # noqa: E731
    return nn.Sequential(unit(1, 18, 79, 4), nn.MaxPool1d(4), unit(18, 18, 3, 1), nn.MaxPool1d(4), unit(18, 34, 3, 1), nn.MaxPool1d(4), unit(34, 66, 3, 1),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(66, 9))


def separator():
    """Conv-TasNet: an encoder of sound, masks from dilated depthwise convolutions with a norm of all, a decoder that adds windows."""
    def mask(m, x):
        code = F.relu(m[0](x))
        return m[3](code * torch.sigmoid(m[2](m[1](code))))
    unit = lambda d: residual(nn.Conv1d(20, 40, 1), nn.PReLU(), nn.GroupNorm(1, 40), nn.Conv1d(40, 40, 3, padding=d, dilation=d, groups=40), nn.PReLU(),  # noqa: E731
                              nn.GroupNorm(1, 40), nn.Conv1d(40, 20, 1))
    return Call(mask, nn.Conv1d(1, 20, 16, 8), nn.Sequential(nn.GroupNorm(1, 20), unit(1), unit(2), unit(4)), nn.Conv1d(20, 20, 1),
                nn.ConvTranspose1d(20, 1, 16, 8))


def video():
    """R(2+1)D: a volume's windows in space and in time, pools, a mean over all."""
    unit = lambda i, o, s: nn.Sequential(nn.Conv3d(i, o, (1, 3, 3), (1, s, s), (0, 1, 1)), nn.BatchNorm3d(o), nn.ReLU(),  # noqa: E731
                                         nn.Conv3d(o, o, (3, 1, 1), (s, 1, 1), (1, 0, 0)), nn.BatchNorm3d(o), nn.ReLU())
    return nn.Sequential(unit(3, 14, 2), residual(unit(14, 14, 1)), unit(14, 22, 2), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(22, 7))


def shuffled():
    """ShuffleNet's first version: groups of 1 x 1 convolutions, channels dealt out between them."""
    def deal(_, x):
        n, c, h, w = x.shape
        return x.view(n, 3, c // 3, h, w).transpose(1, 2).reshape(n, c, h, w)
    unit = lambda c: Call(lambda m, x: F.relu(x + m[0](x)), nn.Sequential(conv(c, c, 1, g=3), Call(deal), conv(c, c, g=c, act=nn.Identity()), conv(c, c, 1, g=3, act=nn.Identity())))  # noqa: E731
    less = lambda i, o: Call(lambda m, x: F.relu(torch.cat([m[0](x), F.avg_pool2d(x, 3, 2, 1)], 1)),  # noqa: E731
                             nn.Sequential(conv(i, i, 1, g=3), Call(deal), conv(i, i, s=2, g=i, act=nn.Identity()), conv(i, o - i, 1, g=3, act=nn.Identity())))
    return nn.Sequential(conv(3, 24, s=2), less(24, 60), unit(60), less(60, 120), unit(120), head(120))


class Segmenter(nn.Module):
    """DeepLab: dilated windows and the picture's mean joined, raised to the size that a Shape tells; a sigmoid for each class."""

    def __init__(self):
        super().__init__()
        self.low, self.high = conv(3, 17, s=2), nn.Sequential(conv(17, 30, s=2), conv(30, 30, d=2), conv(30, 30, d=4))
        self.wide = nn.ModuleList([conv(30, 15, 1), conv(30, 15, d=2), conv(30, 15, d=3), conv(30, 15, d=5)])
        self.mean, self.join, self.skip = nn.Conv2d(30, 15, 1), conv(75, 25, 1), conv(17, 9, 1)
        self.last = nn.Sequential(conv(34, 21), nn.Conv2d(21, 4, 1))

    def forward(self, x):
        low = self.low(x)
        y = self.high(low)
        mean = F.interpolate(F.relu(self.mean(F.adaptive_avg_pool2d(y, 1))), size=y.shape[2:], mode="bilinear", align_corners=False)
        y = F.interpolate(self.join(torch.cat([f(y) for f in self.wide] + [mean], 1)), size=low.shape[2:], mode="bilinear", align_corners=False)
        return torch.sigmoid(F.interpolate(self.last(torch.cat([y, self.skip(low)], 1)), size=x.shape[2:], mode="bilinear", align_corners=False))


class Unpooled(nn.Module):
    """LinkNet: transposed convolutions with odd channels, sums with what came down, an argmax for an answer."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = conv(3, 15, s=2), conv(15, 27, s=2), conv(27, 41, s=2)
        up = lambda i, o: nn.Sequential(conv(i, i // 4, 1), nn.ConvTranspose2d(i // 4, i // 4, 3, 2, 1, 1), nn.BatchNorm2d(i // 4), nn.ReLU(), conv(i // 4, o, 1))  # noqa: E731
        self.up = nn.ModuleList([up(41, 27), up(27, 15)])
        self.last = nn.ConvTranspose2d(15, 5, 2, 2)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        return self.last(self.up[1](self.up[0](self.c(b)) + b) + a)


class Restorer(nn.Module):
    """NAFNet and real-world super-resolution: halves multiplied, channel factors, residuals that are scaled, PixelShuffle twice."""

    def __init__(self):
        super().__init__()
        gated = lambda m, x: x + 0.2 * m[2]((lambda y: y[0] * y[1])(torch.chunk(m[1](m[0](x)), 2, 1)))  # noqa: E731
        unit = lambda c: Call(gated, nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c), nn.Sequential(gate(c), nn.Conv2d(c, c, 1)))  # noqa: E731
        self.enter, self.body = nn.Conv2d(3, 20, 3, padding=1), nn.Sequential(unit(20), unit(20), unit(20))
        self.up = nn.Sequential(nn.Conv2d(20, 80, 3, padding=1), nn.PixelShuffle(2), nn.LeakyReLU(0.2), nn.Conv2d(20, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.up(self.body(self.enter(x))) + F.interpolate(x, scale_factor=4, mode="bilinear", align_corners=False)


class Enhancer(nn.Module):
    """Zero-DCE: curves that a small network draws, applied to the picture again and again."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Conv2d(i, o, 3, padding=1) for i, o in ((3, 18), (18, 18), (36, 18), (36, 12))])

    def forward(self, x):
        a = F.relu(self.parts[0](x))
        b = F.relu(self.parts[1](a))
        c = F.relu(self.parts[2](torch.cat([a, b], 1)))
        for r in torch.split(torch.tanh(self.parts[3](torch.cat([a, c], 1))), 3, 1):
            x = x + r * (x * x - x)
        return x


class Anchored(nn.Module):
    """YOLO version 5: [anchors, places, boxes and classes] for each level, decoded with slices."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = conv(3, 18, 6, 2, act=nn.SiLU()), conv(18, 30, s=2, act=nn.SiLU()), conv(30, 42, s=2, act=nn.SiLU())
        self.heads = nn.ModuleList([nn.Conv2d(i, 3 * 9, 1) for i in (30, 42)])

    def forward(self, x):
        b = self.b(self.a(x))
        rows = []
        for part, level, stride in zip(self.heads, (b, self.c(b)), (4, 8)):
            y = part(level)
            h, w = y.shape[2:]
            y = y.view(1, 3, 9, h, w).permute(0, 1, 3, 4, 2).sigmoid()
            grid = torch.stack(torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")[::-1], 2).float().view(1, 1, h, w, 2)
            sizes = torch.tensor([[10., 13.], [16., 30.], [33., 23.]]).view(1, 3, 1, 1, 2)
            rows.append(torch.cat([(y[..., :2] * 2 - 0.5 + grid) * stride, (y[..., 2:4] * 2) ** 2 * sizes * (stride / 8), y[..., 4:]], -1).view(1, -1, 9))
        return torch.cat(rows, 1)


def grouped():
    """Groups of channels that fill no blocks, a gate between."""
    return nn.Sequential(conv(3, 21, s=2), residual(conv(21, 21), conv(21, 21)), conv(21, 35, s=2), gate(35), residual(conv(35, 35, g=5), conv(35, 35, 1)), head(35))


class Lanes(nn.Module):
    """Two outputs that share a trunk: a softmax over rows of a grid, and offsets."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(3, 16, 5, 2), nn.MaxPool2d(3, 2, 1), conv(16, 33, s=2), conv(33, 33))
        self.grid, self.offsets = nn.Conv2d(33, 11, 1), nn.Conv2d(33, 6, 1)

    def forward(self, x):
        y = self.body(x)
        return torch.softmax(self.grid(y), 1), self.offsets(y).tanh()


WIDE = (3, 96, 96)
NETS = {
    "eca": (eca_net, PICTURE, 13),
    "convnext": (convnext, PICTURE, 17),
    "convnext_v2": (convnext_v2, PICTURE, 16),
    "inception": (inception, PICTURE, 11),
    "pyramid": (Pyramid, WIDE, 14),
    "keypoints": (Keypoints, PICTURE, 16),
    "audio": (audio, (1, 4096), 12),
    "separator": (separator, (1, 808), 16),
    "video": (video, (3, 8, 32, 32), 16),
    "shuffled": (shuffled, PICTURE, 11),
    "deeplab": (Segmenter, PICTURE, 17),
    "linknet": (Unpooled, PICTURE, 13),
    "restorer": (Restorer, (3, 32, 32), 16),
    "enhancer": (Enhancer, PICTURE, 15),
    "yolo_anchors": (Anchored, WIDE, 12),
    "grouped": (grouped, PICTURE, 16),
    "lanes": (Lanes, WIDE, 11),
}
