# SPDX-License-Identifier: Apache-2.0
#
# Networks with attention as their authors write them in PyTorch, small: windows that are shifted, keys of fewer places, queries that
# are learned, products in another order. unseen.py exports and judges them beside those of unseen_nets.py.
import math

import torch
import torchvision.models as zoo
from torch import nn
from torch.nn import functional


class Heads(nn.Module):
    """Attention of x to `to`, with what a network adds to it as functions of the scores or of queries and keys."""

    def __init__(self, width, heads, to=None, groups=None, scores=None, turn=None, bias=True):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups or heads, width // heads
        self.q = nn.Linear(width, width, bias)
        self.kv = nn.Linear(to or width, 2 * self.each * self.groups, bias)
        self.out = nn.Linear(width, width, bias)
        self.scores, self.turn = scores, turn

    def forward(self, x, to=None):
        to = x if to is None else to
        q = self.q(x).view(x.shape[0], -1, self.heads, self.each).transpose(1, 2)
        k, v = self.kv(to).view(to.shape[0], -1, 2, self.groups, self.each).permute(2, 0, 3, 1, 4)
        if self.turn:
            q, k = self.turn(q), self.turn(k)
        if self.groups < self.heads:
            k, v = [a[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).flatten(1, 2) for a in (k, v)]
        s = q @ k.transpose(-1, -2) * self.each ** -0.5
        a = (self.scores(s) if self.scores else s).softmax(-1)
        return self.out((a @ v).transpose(1, 2).reshape(x.shape[0], -1, self.heads * self.each))


class Block(nn.Module):
    def __init__(self, width, attention, first=True, act=nn.GELU, norm=nn.LayerNorm, mix=None):
        super().__init__()
        self.attention, self.first = attention, first
        self.a, self.b = norm(width), norm(width)
        self.mix = mix or nn.Sequential(nn.Linear(width, 2 * width), act(), nn.Linear(2 * width, width))

    def forward(self, x):
        if self.first:
            x = x + self.attention(self.a(x))
            return x + self.mix(self.b(x))
        x = self.a(x + self.attention(x))
        return self.b(x + self.mix(x))


class Rows(nn.Module):
    """Patches of a picture, or rows as they are, with places; blocks; the mean of the rows or all of them."""

    def __init__(self, width, blocks, patch=8, places=64, given=None, mean=True, norm=nn.LayerNorm):
        super().__init__()
        self.enter = nn.Linear(given, width) if given else nn.Conv2d(3, width, patch, patch)
        self.given, self.mean = given, mean
        self.place = nn.Parameter(torch.randn(1, places, width) * 0.1)
        self.blocks, self.norm, self.head = nn.ModuleList(blocks), norm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.enter(x) if self.given else self.enter(x).flatten(2).transpose(1, 2)
        x = x + self.place
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x.mean(1) if self.mean else x)


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up, self.down = [nn.Linear(a, b, False) for a, b in ((width, inner), (width, inner), (inner, width))]

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


def turn_halves(x):
    """Rotary positions, the halves of a head beside each other."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    angle = torch.cat([angle, angle], -1)
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * angle.cos() + turned * angle.sin()


def causal(s):
    return s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))


def slopes(s):
    """ALiBi: each head takes away as much as a key lies behind, times its own slope."""
    slope = torch.tensor([2.0 ** (-8.0 * (h + 1) / s.shape[1]) for h in range(s.shape[1])])
    far = torch.arange(s.shape[-1])[None] - torch.arange(s.shape[-2])[:, None]
    return causal(s + slope[:, None, None] * far.float())


def llama():
    make = lambda: Block(64, Heads(64, 4, groups=2, scores=causal, turn=turn_halves, bias=False), norm=RootMeanSquare, mix=Gated(64, 160))
    return Rows(64, [make(), make()], given=48, places=32, mean=False, norm=RootMeanSquare)


def alibi():
    return Rows(64, [Block(64, Heads(64, 4, scores=slopes)) for _ in range(2)], given=48, places=32, mean=False)


def gpt():
    return Rows(64, [Block(64, Heads(64, 4, scores=causal), act=lambda: nn.GELU("tanh")) for _ in range(2)], given=48, places=32, mean=False)


def behind():
    return Rows(64, [Block(64, Heads(64, 4), first=False, act=nn.ReLU) for _ in range(2)])


def torch_encoder(first):
    def make():
        layers = [nn.TransformerEncoderLayer(64, 4, 128, 0.0, "gelu" if first else "relu", batch_first=True, norm_first=first) for _ in range(2)]
        return Rows(64, layers)
    return make


class Queries(nn.Module):
    """DETR: learned queries look at each other, then at the places of a picture."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 32, 4, 4), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())
        self.place, self.query = nn.Parameter(torch.randn(1, 64, 64) * 0.1), nn.Parameter(torch.randn(1, 12, 64))
        self.layers = nn.ModuleList(nn.TransformerDecoderLayer(64, 4, 128, 0.0, batch_first=True) for _ in range(2))
        self.names, self.boxes = nn.Linear(64, 10), nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        memory = self.trunk(x).flatten(2).transpose(1, 2) + self.place
        q = self.query
        for layer in self.layers:
            q = layer(q, memory)
        return self.names(q), self.boxes(q).sigmoid()


class Reduced(nn.Module):
    """SegFormer: keys and values of a picture that a convolution has made smaller; the mix has a depthwise convolution."""

    def __init__(self, width, less):
        super().__init__()
        self.less, self.norm = nn.Conv2d(width, width, less, less), nn.LayerNorm(width)
        self.attention, self.a, self.b = Heads(width, 2), nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.deep, self.down = nn.Linear(width, 2 * width), nn.Conv2d(2 * width, 2 * width, 3, 1, 1, groups=2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        n, c, h, w = x.shape
        rows = x.flatten(2).transpose(1, 2)
        y = self.a(rows)
        small = self.less(y.transpose(1, 2).reshape(n, c, h, w)).flatten(2).transpose(1, 2)
        rows = rows + self.attention(y, self.norm(small))
        y = self.up(self.b(rows)).transpose(1, 2).reshape(n, 2 * c, h, w)
        y = functional.gelu(self.deep(y)).flatten(2).transpose(1, 2)
        return (rows + self.down(y)).transpose(1, 2).reshape(n, c, h, w)


def segformer():
    return nn.Sequential(nn.Conv2d(3, 32, 7, 4, 3), Reduced(32, 4), nn.Conv2d(32, 64, 3, 2, 1), Reduced(64, 2), nn.Conv2d(64, 10, 1),
                         nn.Upsample(scale_factor=8, mode="bilinear", align_corners=False))


class Unfolded(nn.Module):
    """MobileViT: places of patches that are equal look at each other, between convolutions."""

    def __init__(self, width, inner):
        super().__init__()
        self.near, self.enter = nn.Conv2d(width, width, 3, 1, 1), nn.Conv2d(width, inner, 1)
        self.blocks = nn.Sequential(*[Block(inner, Heads(inner, 4), act=nn.SiLU) for _ in range(2)])
        self.leave, self.join = nn.Conv2d(inner, width, 1), nn.Conv2d(2 * width, width, 3, 1, 1)

    def forward(self, x):
        y = self.enter(self.near(x))
        n, c, h, w = y.shape
        y = y.reshape(n * c * h // 2, 2, w // 2, 2).transpose(1, 2).reshape(n, c, h * w // 4, 4).transpose(1, 3)
        y = self.blocks(y.reshape(n * 4, h * w // 4, c)).reshape(n, 4, h * w // 4, c)
        y = y.transpose(1, 3).reshape(n * c * h // 2, w // 2, 2, 2).transpose(1, 2).reshape(n, c, h, w)
        return self.join(torch.cat([x, self.leave(y)], 1))


def mobilevit():
    unit = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.SiLU())
    return nn.Sequential(unit(3, 16), unit(16, 32), Unfolded(32, 48), unit(32, 48), Unfolded(48, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(48, 10))


class Separable(nn.Module):
    """MobileViTv2: one score for each token; the sum of the keys that they weigh goes to all."""

    def __init__(self, width):
        super().__init__()
        self.width, self.qkv, self.out = width, nn.Conv2d(width, 1 + 2 * width, 1), nn.Conv2d(width, width, 1)
        self.before, self.norm = nn.GroupNorm(1, width), nn.GroupNorm(1, width)
        self.feed = nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.SiLU(), nn.Conv2d(2 * width, width, 1))

    def forward(self, x):
        q, k, v = self.qkv(self.before(x)).split([1, self.width, self.width], 1)
        context = (k * q.softmax(-1)).sum(-1, keepdim=True)
        x = x + self.out(functional.relu(v) * context.expand_as(v))
        return x + self.feed(self.norm(x))


class Patches(nn.Module):
    """Pixels of a patch are apart, and patches look at each other."""

    def __init__(self, c, width, patch=2):
        super().__init__()
        self.patch, self.width = patch, width
        self.enter = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, groups=c), nn.BatchNorm2d(c), nn.SiLU(), nn.Conv2d(c, width, 1))
        self.blocks, self.leave = nn.Sequential(Separable(width), Separable(width), nn.GroupNorm(1, width)), nn.Conv2d(width, c, 1)

    def forward(self, x):
        y = self.enter(x)
        n, c, h, w = y.shape
        p = self.patch
        y = y.reshape(n, c, h // p, p, w // p, p).permute(0, 1, 3, 5, 2, 4).reshape(n, c, p * p, -1)
        y = self.blocks(y).reshape(n, c, p, p, h // p, w // p).permute(0, 1, 4, 2, 5, 3).reshape(n, c, h, w)
        return self.leave(y)


def mobilevit2():
    unit = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.SiLU())
    return nn.Sequential(unit(3, 16), unit(16, 32), Patches(32, 64), unit(32, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


class Linear(nn.Module):
    """EfficientViT: kernels of Relu instead of a softmax, so that keys and values meet first."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.qkv(x).view(n, 3, self.heads, c // self.heads, h * w).unbind(1)
        q, k = functional.relu(q), functional.relu(k)
        v = functional.pad(v, (0, 0, 0, 1), value=1.0)
        y = v @ k.transpose(-1, -2) @ q
        y = y[:, :, :-1] / (y[:, :, -1:] + 1e-6)
        return x + self.out(y.reshape(n, c, h, w))


def efficientvit():
    unit = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.Hardswish())
    return nn.Sequential(unit(3, 16), unit(16, 32), unit(32, 32), Linear(32, 2), Linear(32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class Covariance(nn.Module):
    """XCiT: channels look at channels, with lengths of 1 and a temperature."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heat = nn.Parameter(torch.ones(heads, 1, 1) * 3)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 4, 1)
        q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
        a = (q @ k.transpose(-1, -2) * self.heat).softmax(-1)
        return self.out((a @ v).permute(0, 3, 1, 2).reshape(n, t, c))


def xcit():
    return Rows(64, [Block(64, Covariance(64, 4)) for _ in range(2)])


class Spatial(nn.Module):
    """gMLP: half of the channels gates the other half, mixed along the places."""

    def __init__(self, width, places):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(width, 2 * width), nn.Linear(width, width), nn.LayerNorm(width)
        self.mix = nn.Conv1d(places, places, 1)

    def forward(self, x):
        a, b = functional.gelu(self.up(x)).chunk(2, -1)
        return self.down(a * self.mix(self.norm(b)))


def gmlp():
    return Rows(64, [nn.Sequential(nn.LayerNorm(64), Spatial(64, 64)) for _ in range(2)])


class Conformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        half = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.a, self.b, self.norm, self.last = half(), half(), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.before = Heads(width, 4), nn.LayerNorm(width)
        self.enter, self.deep = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 15, padding=7, groups=width)
        self.batch, self.leave = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        x = x + 0.5 * self.a(x)
        x = x + self.attention(self.before(x))
        y = functional.glu(self.enter(self.norm(x).transpose(1, 2)), 1)
        x = x + self.leave(functional.silu(self.batch(self.deep(y)))).transpose(1, 2)
        return self.last(x + 0.5 * self.b(x))


def conformer():
    return Rows(64, [Conformer(64) for _ in range(2)], given=48, places=64, mean=False)


class Speech(nn.Module):
    """Whisper: two convolutions in time, sinusoids, an encoder, and a decoder's attention to it."""

    def __init__(self, width=64):
        super().__init__()
        self.a, self.b = nn.Conv1d(40, width, 3, 1, 1), nn.Conv1d(width, width, 3, 2, 1)
        rate = torch.exp(-math.log(10000.0) / (width // 2 - 1) * torch.arange(width // 2))
        angle = torch.arange(48)[:, None] * rate
        self.register_buffer("place", torch.cat([angle.sin(), angle.cos()], 1))
        self.blocks, self.norm = nn.ModuleList(Block(width, Heads(width, 4)) for _ in range(2)), nn.LayerNorm(width)
        self.query, self.across, self.head = nn.Parameter(torch.randn(1, 8, width)), Heads(width, 4), nn.Linear(width, 20)
        self.own, self.first = Heads(width, 4, scores=causal), nn.LayerNorm(width)

    def forward(self, x):
        x = functional.gelu(self.b(functional.gelu(self.a(x)))).permute(0, 2, 1) + self.place
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        q = self.query + self.own(self.first(self.query))
        return self.head(q + self.across(q, x))


class Latents(nn.Module):
    """Perceiver: few learned rows look at many, then at each other."""

    def __init__(self):
        super().__init__()
        self.enter, self.latents = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.randn(1, 16, 64) * 0.3)
        self.across, self.blocks, self.norm = Heads(64, 1, to=32), nn.Sequential(*[Block(64, Heads(64, 4)) for _ in range(2)]), nn.LayerNorm(32)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.norm(self.enter(x).flatten(2).transpose(1, 2))
        return self.head(self.blocks(self.latents.expand(x.shape[0], -1, -1) + self.across(self.latents, x)).mean(1))


class Relative(nn.Module):
    """T5's and CoAtNet's: a table of relative places is added to the scores, gathered by an index."""

    def __init__(self, width, heads, side):
        super().__init__()
        at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        far = at[:, :, None] - at[:, None] + side - 1
        self.register_buffer("index", far[0] * (2 * side - 1) + far[1])
        self.table = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads) * 0.3)
        self.heads = Heads(width, heads, scores=lambda s: s + self.table[self.index.view(-1)].view(*self.index.shape, -1).permute(2, 0, 1)[None])

    def forward(self, x):
        return self.heads(x)


def coatnet():
    return Rows(64, [Block(64, Relative(64, 4, 8)) for _ in range(2)])


class Axial(nn.Module):
    """Rows of a picture look along the row, then along the column."""

    def __init__(self, width):
        super().__init__()
        self.row, self.column, self.norm = Heads(width, 2), Heads(width, 2), nn.GroupNorm(1, width)

    def forward(self, x):
        n, c, h, w = x.shape
        y = self.norm(x)
        along = lambda a, f: f(a.permute(0, 2, 3, 1).reshape(-1, a.shape[3], c)).reshape(n, a.shape[2], a.shape[3], c).permute(0, 3, 1, 2)
        return x + along(y, self.row) + along(y.transpose(2, 3), self.column).transpose(2, 3)


def axial():
    return nn.Sequential(nn.Conv2d(3, 32, 8, 8), Axial(32), Axial(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def swin():
    return zoo.swin_transformer.SwinTransformer([4, 4], 48, [2, 2], [3, 6], [4, 4], num_classes=10)


def vit():
    return zoo.VisionTransformer(64, 8, 2, 4, 64, 128, num_classes=10)


PICTURE, ROWS = (3, 64, 64), (32, 48)
# name: (what makes it, the shape of an input without the images, the opset of the file)
NETS = {
    "vit": (vit, PICTURE, 14),
    "swin": (swin, PICTURE, 14),
    "deit_behind": (behind, PICTURE, 11),
    "torch_encoder": (torch_encoder(False), PICTURE, 14),
    "torch_encoder_first": (torch_encoder(True), PICTURE, 16),
    "detr": (Queries, PICTURE, 16),
    "segformer": (segformer, PICTURE, 16),
    "mobilevit": (mobilevit, PICTURE, 13),
    "mobilevit2": (mobilevit2, PICTURE, 16),
    "efficientvit": (efficientvit, PICTURE, 16),
    "xcit": (xcit, PICTURE, 16),
    "gmlp": (gmlp, PICTURE, 16),
    "coatnet": (coatnet, PICTURE, 14),
    "axial": (axial, PICTURE, 14),
    "perceiver": (Latents, PICTURE, 14),
    "gpt": (gpt, ROWS, 14),
    "llama": (llama, ROWS, 16),
    "alibi": (alibi, ROWS, 14),
    "conformer": (conformer, (64, 48), 16),
    "whisper": (Speech, (40, 96), 16),
}
