# SPDX-License-Identifier: Apache-2.0
#
# Forty architectures for unseen.py, in the forms that PyTorch exports: classifiers of torchvision, and small networks written
# here for segmentation, super-resolution, style, landmarks, sound, motion and detection. Widths are small, so that a network takes
# seconds; what stands between the layers is that of the published ones.
import torch
import torch.nn.functional as F
import torchvision.models as zoo
from torch import nn


class Call(nn.Module):
    """A function with modules: function(modules, x)."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.own = function, nn.ModuleList(modules)

    def forward(self, x):
        return self.function(self.own, x)


def conv(i, o, k=3, s=1, g=1, act=None, norm=nn.BatchNorm2d, d=1):
    """Convolution, normalization, activation."""
    parts = [nn.Conv2d(i, o, k, s, d * (k // 2), groups=g, dilation=d, bias=norm is None)]
    return nn.Sequential(*parts + ([norm(o)] if norm else []) + ([act] if act is not None else [nn.ReLU()]))


def head(width, classes=10):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def residual(*parts):
    return Call(lambda m, x: x + m[0](x), nn.Sequential(*parts))


def gate(width, less=4):
    """Squeeze and excite."""
    return Call(lambda m, x: x * m[0](x), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // less, 1), nn.ReLU(),
                                                       nn.Conv2d(width // less, width, 1), nn.Sigmoid()))


# ---- attention of pixels and channels

def spatial(_, x):
    return torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)


def cbam(width):
    shared = nn.Sequential(nn.Conv2d(width, width // 4, 1), nn.ReLU(), nn.Conv2d(width // 4, width, 1))
    channels = Call(lambda m, x: x * torch.sigmoid(m[0](F.adaptive_avg_pool2d(x, 1)) + m[0](F.adaptive_max_pool2d(x, 1))), shared)
    pixels = Call(lambda m, x: x * torch.sigmoid(m[0](spatial(None, x))), nn.Conv2d(2, 1, 7, padding=3))
    return nn.Sequential(channels, pixels)


def cbam_net():
    return nn.Sequential(conv(3, 16, s=2), residual(conv(16, 16), cbam(16)), conv(16, 32, s=2), residual(conv(32, 32), cbam(32)), head(32))


def poolformer():
    mix = lambda m, x: x + m[1](m[0](x)) - m[0](x)  # noqa: E731  # pool minus its input
    block = lambda c: nn.Sequential(Call(mix, nn.BatchNorm2d(c), nn.AvgPool2d(3, 1, 1, count_include_pad=False)),  # noqa: E731
                                    residual(nn.BatchNorm2d(c), nn.Conv2d(c, 2 * c, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1)))
    return nn.Sequential(nn.Conv2d(3, 16, 7, 4, 2), block(16), block(16), nn.Conv2d(16, 32, 3, 2, 1), block(32), head(32))


def convmixer():
    parts = []
    for _ in range(3):
        parts += [residual(nn.Conv2d(32, 32, 7, padding=3, groups=32), nn.GELU(), nn.BatchNorm2d(32)),
                  nn.Sequential(nn.Conv2d(32, 32, 1), nn.GELU(), nn.BatchNorm2d(32))]
    return nn.Sequential(nn.Conv2d(3, 32, 4, 4), nn.GELU(), nn.BatchNorm2d(32), *parts, head(32))


def ghost():
    unit = lambda i, o: Call(lambda m, x: torch.cat([m[0](x), m[1](m[0](x))], 1), conv(i, o // 2, 1), conv(o // 2, o // 2, 3, g=o // 2))  # noqa: E731
    return nn.Sequential(conv(3, 16, s=2), unit(16, 32), gate(32), conv(32, 32, 3, 2, 32), unit(32, 48), gate(48), head(48))


def mixed_windows():
    """MixNet: windows of several sizes, each for a share of the channels."""
    split = lambda m, x: torch.cat([f(p) for f, p in zip(m, torch.split(x, 8, 1))], 1)  # noqa: E731
    unit = lambda: Call(split, *[conv(8, 8, k, g=8, act=nn.SiLU()) for k in (3, 5, 7, 9)])  # noqa: E731
    return nn.Sequential(conv(3, 32, s=2, act=nn.SiLU()), unit(), conv(32, 32, 1, act=nn.SiLU()), unit(), gate(32), head(32))


def selective():
    """SKNet: a softmax over two branches chooses for each channel."""
    def choose(m, x):
        a, b = m[0](x), m[1](x)
        s = m[2](F.adaptive_avg_pool2d(a + b, 1))
        share = torch.softmax(torch.cat([m[3](s), m[4](s)], 2), 2)
        return a * share[:, :, :1] + b * share[:, :, 1:]
    unit = lambda c: Call(choose, conv(c, c), conv(c, c, d=2), conv(c, 8, 1), nn.Conv2d(8, c, 1), nn.Conv2d(8, c, 1))  # noqa: E731
    return nn.Sequential(conv(3, 16, s=2), unit(16), conv(16, 32, s=2), unit(32), head(32))


def repvgg():
    unit = lambda i, o, s: Call(lambda m, x: F.relu(m[0](x) + m[1](x)), nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.BatchNorm2d(o)),  # noqa: E731
                                nn.Sequential(nn.Conv2d(i, o, 1, s), nn.BatchNorm2d(o)))
    return nn.Sequential(unit(3, 16, 2), unit(16, 16, 1), unit(16, 32, 2), unit(32, 32, 1), head(32))


def maxout():
    unit = lambda i, o: Call(lambda m, x: torch.max(*torch.chunk(m[0](x), 2, 1)), nn.Conv2d(i, 2 * o, 3, padding=1))  # noqa: E731
    return nn.Sequential(unit(3, 16), nn.MaxPool2d(2), unit(16, 32), residual(unit(32, 32)), nn.MaxPool2d(2), unit(32, 32), head(32))


def mobileone():
    return nn.Sequential(conv(3, 16, s=2, act=nn.Hardswish()), *[residual(conv(16, 16, g=16, act=nn.Hardswish()), conv(16, 16, 1, act=nn.Identity()))
                                                              for _ in range(4)], gate(16), head(16))


def local_response():
    """AlexNet's and GoogLeNet's normalization over neighbouring channels."""
    return nn.Sequential(nn.Conv2d(3, 24, 5, 2, 2), nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(24, 32, 3, padding=1),
                         nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), head(32))


def group_norm():
    norm = lambda c: nn.GroupNorm(8, c)  # noqa: E731
    return nn.Sequential(conv(3, 16, s=2, norm=norm), residual(conv(16, 16, norm=norm), conv(16, 16, norm=norm)), conv(16, 32, s=2, norm=norm), head(32))


# ---- pictures from pictures

class UNet(nn.Module):
    """align_corners=True: interpolation; otherwise transposed convolutions; `size`: to the size of what it joins."""

    def __init__(self, up, classes=3):
        super().__init__()
        self.up = up
        self.down = nn.ModuleList([nn.Sequential(conv(i, o), conv(o, o)) for i, o in ((3, 12), (12, 24), (24, 32))])
        self.grow = nn.ModuleList([nn.ConvTranspose2d(i, o, 2, 2) for i, o in ((32, 24), (24, 12))])
        self.join = nn.ModuleList([conv((24 if up == "transposed" else 32) + 24, 24), conv((12 if up == "transposed" else 24) + 12, 12)])
        self.last = nn.Conv2d(12, classes, 1)

    def larger(self, i, x, like):
        if self.up == "transposed":
            return self.grow[i](x)
        if self.up == "size":
            return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=False)
        return F.interpolate(x, scale_factor=2, mode="bilinear" if self.up == "aligned" else "nearest",
                             align_corners=True if self.up == "aligned" else None)

    def forward(self, x):
        kept = []
        for i, part in enumerate(self.down):
            x = part(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i, part in enumerate(self.join):
            x = part(torch.cat([kept[1 - i], self.larger(i, x, kept[1 - i])], 1))
        return self.last(x)


def style():
    """Mirrored borders, InstanceNorm, interpolation by repeating."""
    unit = lambda i, o, k, s=1: nn.Sequential(nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), nn.InstanceNorm2d(o, affine=True))  # noqa: E731
    body = [residual(unit(32, 32, 3), nn.ReLU(), unit(32, 32, 3)) for _ in range(2)]
    return nn.Sequential(unit(3, 16, 9), nn.ReLU(), unit(16, 32, 3, 2), nn.ReLU(), *body, nn.Upsample(scale_factor=2), unit(32, 16, 3), nn.ReLU(),
                         nn.ReflectionPad2d(4), nn.Conv2d(16, 3, 9))


def mirrored():
    """CycleGAN's generator with the normalization folded: mirrored borders, transposed convolutions, tanh."""
    unit = lambda i, o, k, s=1: nn.Sequential(nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), nn.BatchNorm2d(o))  # noqa: E731
    return nn.Sequential(unit(3, 16, 7), nn.ReLU(), conv(16, 32, s=2), residual(unit(32, 32, 3), nn.ReLU(), unit(32, 32, 3)),
                         nn.ConvTranspose2d(32, 16, 3, 2, 1, 1), nn.ReLU(), nn.ReflectionPad2d(3), nn.Conv2d(16, 3, 7), nn.Tanh())


def repeated_border():
    unit = lambda i, o: nn.Sequential(nn.ReplicationPad2d(1), nn.Conv2d(i, o, 3), nn.LeakyReLU(0.1))  # noqa: E731
    return nn.Sequential(unit(3, 24), residual(unit(24, 24), unit(24, 24)), residual(unit(24, 24)), unit(24, 12), nn.PixelShuffle(2), nn.Conv2d(3, 3, 3, padding=1))


def espcn():
    return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.Tanh(), nn.Conv2d(32, 16, 3, padding=1), nn.Tanh(), nn.Conv2d(16, 9, 3, padding=1), nn.PixelShuffle(3))


def srresnet():
    body = [residual(conv(24, 24, act=nn.PReLU(24)), conv(24, 24, act=nn.Identity())) for _ in range(2)]
    return nn.Sequential(nn.Conv2d(3, 24, 9, padding=4), nn.PReLU(24), residual(*body), nn.Conv2d(24, 96, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(24),
                         nn.Conv2d(24, 3, 9, padding=4))


def pyramid_pooling():
    """PSPNet: means of several sizes, made as large as the picture again."""
    def pool(m, x):
        parts = [F.interpolate(f(F.adaptive_avg_pool2d(x, s)), size=x.shape[2:], mode="bilinear", align_corners=True) for f, s in zip(m, (1, 2, 4))]
        return torch.cat([x] + parts, 1)
    return nn.Sequential(conv(3, 16, s=2), conv(16, 32, s=2), Call(pool, *[conv(32, 8, 1) for _ in range(3)]), conv(56, 24), nn.Conv2d(24, 5, 1))


def depth():
    """Disparity: edges repeated, ELU, one sigmoid for each scale."""
    class Depth(nn.Module):
        def __init__(self):
            super().__init__()
            up = lambda i, o: nn.Sequential(nn.ReplicationPad2d(1), nn.Conv2d(i, o, 3), nn.ELU())  # noqa: E731
            self.a, self.b, self.c, self.d, self.e = conv(3, 16, s=2), conv(16, 32, s=2), up(32, 16), up(32, 16), nn.Conv2d(16, 1, 3, padding=1)

        def forward(self, x):
            a = self.a(x)
            x = F.interpolate(self.c(self.b(a)), scale_factor=2, mode="nearest")
            x = self.d(torch.cat([x, a], 1))
            return torch.sigmoid(self.e(x)), torch.sigmoid(self.e(F.interpolate(x, scale_factor=2, mode="nearest")))
    return Depth()


# ---- landmarks, keypoints, faces

def facemesh():
    unit = lambda i, o, s: Call(lambda m, x: m[1](m[0](x) + (m[2](x) if s == 2 else x)), nn.Sequential(nn.Conv2d(i, i, 3, s, 1, groups=i), nn.Conv2d(i, o, 1)),  # noqa: E731
                                nn.PReLU(o), nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(i, o, 1)) if s == 2 else nn.Identity())
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.PReLU(16), unit(16, 16, 1), unit(16, 32, 2), unit(32, 32, 1), unit(32, 32, 2), unit(32, 32, 1),
                         nn.Flatten(), nn.Linear(32 * 64, 30))


def blazeface():
    """The channels that a block adds are zeros on its other way."""
    grow = lambda i, o: Call(lambda m, x: F.relu(m[0](x) + F.pad(F.max_pool2d(x, 2), (0, 0, 0, 0, 0, o - i))),  # noqa: E731
                             nn.Sequential(nn.Conv2d(i, i, 5, 2, 2, groups=i), nn.Conv2d(i, o, 1)))
    keep = lambda c: Call(lambda m, x: F.relu(m[0](x) + x), nn.Sequential(nn.Conv2d(c, c, 5, 1, 2, groups=c), nn.Conv2d(c, c, 1)))  # noqa: E731
    body = nn.Sequential(conv(3, 24, 5, 2), keep(24), grow(24, 40), keep(40), grow(40, 64), keep(64))
    heads = lambda m, x: (torch.sigmoid(m[1](m[0](x)).permute(0, 2, 3, 1).reshape(1, -1, 1)), m[2](m[0](x)).permute(0, 2, 3, 1).reshape(1, -1, 4))  # noqa: E731
    return Call(heads, body, nn.Conv2d(64, 2, 1), nn.Conv2d(64, 8, 1))


def hourglass():
    class Glass(nn.Module):
        def __init__(self, depth, c):
            super().__init__()
            self.a, self.b, self.c = conv(c, c), conv(c, c), conv(c, c)
            self.inner = Glass(depth - 1, c) if depth > 1 else conv(c, c)

        def forward(self, x):
            return self.a(x) + F.interpolate(self.c(self.inner(self.b(F.max_pool2d(x, 2)))), scale_factor=2, mode="nearest")
    return nn.Sequential(conv(3, 24, 7, 2), Glass(3, 24), conv(24, 24), nn.Conv2d(24, 8, 1))


# ---- detectors

def yolo(act):
    class Yolo(nn.Module):
        """Decoded boxes and scores of three levels in one table, as version 8 gives them."""

        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = conv(3, 16, s=2, act=act()), conv(16, 32, s=2, act=act()), conv(32, 48, s=2, act=act())
            self.mix = nn.Sequential(conv(48, 24, 1, act=act()), Call(lambda m, x: torch.cat([x] + [F.max_pool2d(x, k, 1, k // 2) for k in (5, 9)], 1)),
                                     conv(72, 48, 1, act=act()))
            self.up = conv(80, 32, act=act())
            self.heads = nn.ModuleList([nn.Conv2d(i, 4 + 6, 1) for i in (32, 48)])

        def forward(self, x):
            b = self.b(self.a(x))
            c = self.mix(self.c(b))
            rows = []
            for part, level, stride in zip(self.heads, (self.up(torch.cat([F.interpolate(c, scale_factor=2), b], 1)), c), (4, 8)):
                y = part(level)
                h, w = y.shape[2:]
                grid = torch.stack([torch.arange(w).repeat(h, 1), torch.arange(h).view(-1, 1).repeat(1, w)]).float().reshape(1, 2, -1)
                y = y.reshape(1, 10, -1)
                xy = (y[:, :2].sigmoid() * 2 - 0.5 + grid) * stride
                wh = (y[:, 2:4].sigmoid() * 2) ** 2 * stride * 3
                rows.append(torch.cat([xy, wh, y[:, 4:].sigmoid()], 1))
            return torch.cat(rows, 2)
    return Yolo()


def single_shot():
    class Ssd(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Sequential(conv(3, 16, s=2, act=nn.ReLU6()), conv(16, 32, s=2, act=nn.ReLU6())), conv(32, 48, s=2), conv(48, 48, s=2)
            self.boxes = nn.ModuleList([nn.Conv2d(i, 12, 3, padding=1) for i in (32, 48, 48)])
            self.scores = nn.ModuleList([nn.Conv2d(i, 15, 3, padding=1) for i in (32, 48, 48)])

        def forward(self, x):
            levels = [self.a(x)]
            levels.append(self.b(levels[0]))
            levels.append(self.c(levels[1]))
            flat = lambda f, n: torch.cat([m(y).permute(0, 2, 3, 1).reshape(1, -1, n) for m, y in zip(f, levels)], 1)  # noqa: E731
            return flat(self.boxes, 4), torch.softmax(flat(self.scores, 5), -1)
    return Ssd()


def centres():
    """Heat maps whose peaks are those that a maximum pool keeps."""
    peaks = lambda m, x: (lambda y: y * (F.max_pool2d(y, 3, 1, 1) == y).float())(torch.sigmoid(m[0](x)))  # noqa: E731
    return Call(peaks, nn.Sequential(conv(3, 24, s=2), conv(24, 32, s=2), nn.ConvTranspose2d(32, 24, 4, 2, 1), nn.ReLU(), nn.Conv2d(24, 4, 1)))


# ---- sound, motion, tables of numbers

def keywords():
    return nn.Sequential(conv(1, 32, 3, 2), *[nn.Sequential(conv(32, 32, g=32), conv(32, 32, 1)) for _ in range(3)], head(32, 12))


def temporal():
    block = lambda i, o, d: Call(lambda m, x: F.relu(m[0](F.pad(x, (2 * d, 0))) + m[1](x)), nn.Sequential(nn.Conv1d(i, o, 3, dilation=d), nn.ReLU()), nn.Conv1d(i, o, 1))  # noqa: E731
    return nn.Sequential(block(8, 24, 1), block(24, 24, 2), block(24, 24, 4), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(24, 6))


def wave():
    """A gated convolution of WaveNet, skips added."""
    unit = lambda d: Call(lambda m, x: x + m[2](torch.tanh(m[0](x)) * torch.sigmoid(m[1](x))), nn.Conv1d(24, 24, 3, padding=d, dilation=d),  # noqa: E731
                          nn.Conv1d(24, 24, 3, padding=d, dilation=d), nn.Conv1d(24, 24, 1))
    return nn.Sequential(nn.Conv1d(4, 24, 3, padding=1), unit(1), unit(2), unit(4), nn.ReLU(), nn.Conv1d(24, 5, 1))


def volumes():
    """Medical: a U-Net of volumes."""
    unit = lambda i, o: nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.BatchNorm3d(o), nn.ReLU())  # noqa: E731
    go = lambda m, x: (lambda a: m[3](torch.cat([a, m[2](m[1](F.max_pool3d(a, 2)))], 1)))(m[0](x))  # noqa: E731
    return Call(go, unit(1, 8), unit(8, 16), nn.ConvTranspose3d(16, 8, 2, 2), nn.Sequential(unit(16, 8), nn.Conv3d(8, 2, 1)))


def autoencoder():
    layers = [nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()) for i, o in ((128, 64), (64, 16), (16, 64))]
    return nn.Sequential(*layers, nn.Linear(64, 128))


def mixer():
    class Block(nn.Module):
        def __init__(self, n, c):
            super().__init__()
            self.a, self.b = nn.LayerNorm(c), nn.LayerNorm(c)
            self.tokens = nn.Sequential(nn.Linear(n, 32), nn.GELU(), nn.Linear(32, n))
            self.channels = nn.Sequential(nn.Linear(c, 64), nn.GELU(), nn.Linear(64, c))

        def forward(self, x):
            x = x + self.tokens(self.a(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.b(x))
    rows = Call(lambda m, x: m[0](x).flatten(2).transpose(1, 2), nn.Conv2d(3, 32, 8, 8))
    return nn.Sequential(rows, Block(64, 32), Block(64, 32), Call(lambda m, x: m[0](x.mean(1)), nn.Linear(32, 10)))


def torchvision(name, **words):
    return lambda: getattr(zoo, name)(num_classes=10, **words)


PICTURE, LARGER = (3, 64, 64), (3, 96, 96)
# name: (what makes it, the shape of an input without the images, the opset of the file)
NETS = {
    "resnet18": (torchvision("resnet18"), PICTURE, 11),
    "mobilenet_v2": (torchvision("mobilenet_v2", width_mult=0.35), PICTURE, 12),
    "mobilenet_v3": (torchvision("mobilenet_v3_small", width_mult=0.5), PICTURE, 13),
    "shufflenet": (torchvision("shufflenet_v2_x0_5"), PICTURE, 11),
    "squeezenet": (torchvision("squeezenet1_1"), PICTURE, 16),
    "mnasnet": (torchvision("mnasnet0_5"), PICTURE, 13),
    "densenet": (lambda: zoo.DenseNet(8, (2, 3, 2), 16, num_classes=10), PICTURE, 14),
    "googlenet": (torchvision("googlenet", init_weights=False, aux_logits=False), PICTURE, 16),
    "regnet": (torchvision("regnet_y_400mf"), PICTURE, 16),
    "cbam": (cbam_net, PICTURE, 16),
    "poolformer": (poolformer, PICTURE, 16),
    "convmixer": (convmixer, PICTURE, 16),
    "ghostnet": (ghost, PICTURE, 13),
    "mixnet": (mixed_windows, PICTURE, 16),
    "sknet": (selective, PICTURE, 16),
    "repvgg": (repvgg, PICTURE, 11),
    "maxout": (maxout, PICTURE, 16),
    "mobileone": (mobileone, PICTURE, 14),
    "alexnet_lrn": (local_response, PICTURE, 16),
    "group_norm": (group_norm, PICTURE, 16),
    "unet": (lambda: UNet("transposed"), PICTURE, 16),
    "unet_aligned": (lambda: UNet("aligned"), PICTURE, 16),
    "unet_size": (lambda: UNet("size"), PICTURE, 16),
    "style": (style, PICTURE, 16),
    "cyclegan": (mirrored, PICTURE, 16),
    "sr_edges": (repeated_border, PICTURE, 16),
    "espcn": (espcn, (1, 48, 48), 11),
    "srresnet": (srresnet, PICTURE, 16),
    "pspnet": (pyramid_pooling, PICTURE, 16),
    "depth": (depth, PICTURE, 16),
    "facemesh": (facemesh, PICTURE, 16),
    "blazeface": (blazeface, PICTURE, 16),
    "hourglass": (hourglass, PICTURE, 16),
    "yolo_silu": (lambda: yolo(nn.SiLU), LARGER, 13),
    "yolo_leaky": (lambda: yolo(lambda: nn.LeakyReLU(0.1)), LARGER, 11),
    "ssd": (single_shot, LARGER, 16),
    "centernet": (centres, LARGER, 16),
    "keywords": (keywords, (1, 49, 10), 16),
    "temporal": (temporal, (8, 64), 16),
    "wavenet": (wave, (4, 128), 16),
    "unet_3d": (volumes, (1, 8, 16, 16), 16),
    "autoencoder": (autoencoder, (128,), 16),
    "mixer": (mixer, PICTURE, 16),
}
