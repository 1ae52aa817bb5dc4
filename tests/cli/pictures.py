#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# `vtac run --input picture`: PNG files of every kind, written here, through models that hand them back, against the
# pixels that went into the files; sizes and preprocessing against the formulas in Python; what is damaged or does not
# fit, against the message. JPEG files are written here; a photograph is read where there are published models. Arguments: VTAC
# SHARED.
import array, json, os, random, struct, subprocess, sys, tempfile, zlib

vtac, shared = os.path.abspath(sys.argv[1]), sys.argv[2]
seed = int(subprocess.run(['sh', os.path.join(os.path.dirname(__file__), '../lib/seed.sh'), 'pictures'], capture_output=True,
                          text=True, check=True).stdout)
print(f'seed {seed} (VTAC_SEED={os.environ.get("VTAC_SEED", "")})')
draw = random.Random(seed)
os.chdir(tempfile.mkdtemp())


def run(*words, ok=True):
    done = subprocess.run([vtac, *words], capture_output=True, text=True)
    assert (done.returncode == 0) == ok, f'vtac {" ".join(words)}: {done.returncode}\n{done.stdout}{done.stderr}'
    return done


def refused(status, text, *words):
    done = run(*words, ok=False)
    assert done.returncode == status and text in done.stderr and done.stderr.count('\n') == 1 and not done.stdout, \
        f'vtac {" ".join(words)}: exit {done.returncode}, wanted {status} and "{text}"\n{done.stdout}{done.stderr}'


# ---- files

def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def png(path, width, height, depth, colour, samples, palette=b'', alpha=b''):
    """`samples`: rows of integers, all channels of a pixel side by side."""
    rows = b''
    for row in samples:
        bits = ''.join(format(s, f'0{depth}b') for s in row)
        bits += '0' * (-len(bits) % 8)
        rows += b'\0' + bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    data = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, depth, colour, 0, 0, 0))
    data += (chunk(b'PLTE', palette) if palette else b'') + (chunk(b'tRNS', alpha) if alpha else b'')
    data += chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
    open(path, 'wb').write(data)


def npy(path, kind):
    data = open(path, 'rb').read()
    values = array.array(kind)
    values.frombytes(data[10 + (data[8] | data[9] << 8):])
    return list(values)


# ---- models that hand back what they are given

def model(name, kind, shape):
    dims = ','.join(map(str, shape))
    open(f'{name}.ir', 'w').write(f'graph "{name}"\ninput %x: {kind}[{dims}]\nconst %s: i64[{len(shape)}] = [{dims}]\n'
                                  f'%y: {kind}[{dims}] = Reshape(%x, %s)\noutput %y\n')
    run('compile', f'{name}.ir', '-o', f'{name}.so')


W, H = 13, 9
model('nchw', 'f32', [1, 3, H, W])
model('grey', 'f32', [1, 1, H, W])
model('nhwc', 'u8', [1, H, W, 3])
model('int8', 'i8', [3, H, W])
model('small', 'f32', [1, 3, 8, 6])
model('flat', 'f32', [10])
model('batch', 'f32', [2, 3, H, W])
model('long', 'i64', [1, 3, H, W])


def through(so, kind, path, *words):
    run('run', f'{so}.so', '--input', path, '--output-dir', 'out', *words)
    return npy('out/y.npy', kind)


def planes(pixels):
    return [p[c] for c in range(3) for p in pixels]


def check(what, got, want, off=0.0):
    assert len(got) == len(want), f'{what}: {len(got)} values instead of {len(want)}'
    worst = max(range(len(got)), key=lambda i: abs(got[i] - want[i]))
    assert abs(got[worst] - want[worst]) <= off, f'{what}: value {worst} is {got[worst]}, not {want[worst]} (seed {seed})'
    print(f'ok   {what}')


def over_white(value, alpha):
    return (value * alpha + 255 * (255 - alpha) + 127) // 255


def narrow(value, depth):
    return round(value * 255 / (2 ** depth - 1))


# ---- every kind of PNG, twice with other pixels
for turn in range(2):
    for colour, channels, depths in ((0, 1, (1, 2, 4, 8, 16)), (2, 3, (8, 16)), (4, 2, (8, 16)), (6, 4, (8, 16)), (3, 1, (1, 2, 4, 8))):
        for depth in depths:
            palette = [tuple(draw.randrange(256) for _ in range(3)) for _ in range(2 ** depth)] if colour == 3 else []
            alpha = [draw.randrange(256) for _ in palette][:draw.randrange(len(palette) + 1)] if palette else []
            rows = [[draw.randrange(2 ** depth) for _ in range(W * channels)] for _ in range(H)]
            png('p.png', W, H, depth, colour, rows, bytes(v for p in palette for v in p), bytes(alpha))
            pixels = []
            for row in rows:
                for x in range(W):
                    s = row[x * channels:(x + 1) * channels]
                    if colour == 3:
                        a = alpha[s[0]] if s[0] < len(alpha) else 255
                        pixels.append([over_white(v, a) for v in palette[s[0]]])
                        continue
                    v = [narrow(t, depth) for t in s]
                    a = v[-1] if colour in (4, 6) else 255
                    rgb = v[:1] * 3 if colour in (0, 4) else v[:3]
                    pixels.append([over_white(t, a) for t in rgb])
            check(f'colour type {colour}, {depth} bits, turn {turn}', through('nchw', 'f', 'p.png', '--preprocess', 'raw'),
                  planes(pixels))

# ---- values: the last picture is a palette; one of three bytes is easier to follow
rows = [[draw.randrange(256) for _ in range(3 * W)] for _ in range(H)]
png('p.png', W, H, 8, 2, rows)
pixels = [row[3 * x:3 * x + 3] for row in rows for x in range(W)]
check('u8, channels last', through('nhwc', 'B', 'p.png'), [v for p in pixels for v in p])
check('i8, no batch', through('int8', 'b', 'p.png'), [v - 128 for v in planes(pixels)])
check('grey', through('grey', 'f', 'p.png'), [(p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 32768) >> 16 for p in pixels])
mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
normal = [(p[c] / 255 - mean[c]) / std[c] for c in range(3) for p in pixels]
check('imagenet', through('nchw', 'f', 'p.png', '--preprocess', 'imagenet'), normal, 1e-6)
check('imagenet is what floats get', through('nchw', 'f', 'p.png'), normal, 1e-6)
assert "prepared as 'imagenet'" in run('run', 'nchw.so', '--input', 'p.png').stderr, 'the guess is not told'
check('tf', through('nchw', 'f', 'p.png', '--preprocess', 'tf'), [v / 127.5 - 1 for v in planes(pixels)], 1e-6)
caffe = [p[2 - c] - (104, 117, 123)[c] for c in range(3) for p in pixels]
check('caffe', through('nchw', 'f', 'p.png', '--preprocess', 'caffe'), caffe)
check('caffe in words', through('nchw', 'f', 'p.png', '--preprocess', 'mean=104,117,123,order=bgr'), caffe)
check('a name and what differs', through('nchw', 'f', 'p.png', '--preprocess', 'raw,scale=2,std=0.5'), planes(pixels))

# ---- sizes: the triangle filter, by columns and then rows, in floating point
def shrink(values, size, scaled, offset):
    step = len(values) / scaled
    reach = max(step, 1.0)
    out = []
    for i in range(size):
        middle = (i + offset + 0.5) * step
        weights = [max(0.0, 1 - abs(k + 0.5 - middle) / reach) for k in range(len(values))]
        out.append(sum(w * v for w, v in zip(weights, values)) / sum(weights))
    return out


def prepared(width, height, crop, rows):
    """What a model of 8 x 6 gets of rows of colours: scaled, and the middle of that."""
    want_x, want_y = 6, 8
    least_x, least_y = int(want_x / crop + 0.5), int(want_y / crop + 0.5)
    scale = max(least_x / width, least_y / height)
    scaled_x, scaled_y = (max(least, int(side * scale + 0.5)) for least, side in ((least_x, width), (least_y, height)))
    want = []
    for c in range(3):
        lines = [shrink([row[3 * x + c] for x in range(width)], want_x, scaled_x, round((scaled_x - want_x) / 2)) for row in rows]
        columns = [shrink([line[x] for line in lines], want_y, scaled_y, round((scaled_y - want_y) / 2)) for x in range(want_x)]
        want += [columns[x][y] for y in range(want_y) for x in range(want_x)]
    return want


for width, height in ((40, 30), (17, 31), (6, 9), (5, 5), (8, 3), (200, 7)):
    rows = [[draw.randrange(256) for _ in range(3 * width)] for _ in range(height)]
    png('p.png', width, height, 8, 2, rows)
    for crop in (0.875, 1.0):
        check(f'{width} x {height}, crop {crop}', through('small', 'f', 'p.png', '--preprocess', f'raw,crop={crop}'),
              prepared(width, height, crop, rows), 1.01)

# ---- several pictures, and what goes wrong
png('a.png', W, H, 8, 0, [[1] * W] * H)
png('b.png', W, H, 8, 0, [[2] * W] * H)
report = json.loads(run('run', 'nchw.so', '--input', 'a.png', '--input', 'b.png', '--preprocess', 'raw', '--top', '1', '--json',
                        '--output-dir', 'many').stdout)
assert [r['outputs'][0]['top'][0]['value'] for r in report['results']] == [1, 2] and \
    [r['input'] for r in report['results']] == ['a.png', 'b.png'], report
assert npy('many/0_y.npy', 'f')[0] == 1 and npy('many/1_y.npy', 'f')[0] == 2
refused(2, "no 'imagnet'; there are imagenet", 'run', 'nchw.so', '--input', 'a.png', '--preprocess', 'imagnet')
refused(2, 'std take one number or three', 'run', 'nchw.so', '--input', 'a.png', '--preprocess', 'std=0')
png('wide.png', 300, 2, 8, 0, [[1] * 300] * 2)
for crop in ('1e-310', '1e-300', '0.0009', '0', 'nan'):  # scales that no number holds
    refused(2, 'crop one from 0.001 to 1', 'run', 'nchw.so', '--input', 'wide.png', '--preprocess', f'raw,crop={crop}')
run('run', 'nchw.so', '--input', 'wide.png', '--preprocess', 'raw,crop=0.001')
refused(2, 'layout nchw or nhwc', 'run', 'nchw.so', '--input', 'a.png', '--preprocess', 'layout=chw')
refused(1, "input 'x' is f32[10]: not the shape of a picture", 'run', 'flat.so', '--input', 'a.png')
refused(1, 'a batch of several', 'run', 'batch.so', '--input', 'a.png')
refused(1, "give input 'x' as .npy", 'run', 'long.so', '--input', 'a.png')
refused(1, 'not the shape of a picture', 'run', 'nchw.so', '--input', 'a.png', '--preprocess', 'layout=nhwc')
refused(1, 'none.png', 'run', 'nchw.so', '--input', 'none.png')
whole = open('a.png', 'rb').read()
for length in (0, 7, 8, 20, 40, len(whole) - 20, len(whole) - 5):
    open('cut.png', 'wb').write(whole[:length])
    refused(1, 'cut.png: it is ' + ('no PNG, JPEG, BMP or PNM' if length < 8 else 'a damaged PNG'), 'run', 'nchw.so', '--input', 'cut.png')
for _ in range(40):
    broken = bytearray(whole)
    broken[draw.randrange(8, len(whole))] ^= 1 << draw.randrange(8)
    open('flip.png', 'wb').write(broken)
    done = subprocess.run([vtac, 'run', 'nchw.so', '--input', 'flip.png', '--preprocess', 'raw'], capture_output=True, text=True)
    assert done.returncode in (0, 1) and done.stderr.count('\n') == done.returncode, (done, seed)
huge = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 900000, 900000, 8, 2, 0, 0, 0))
open('huge.png', 'wb').write(huge + chunk(b'IDAT', zlib.compress(b'')) + chunk(b'IEND', b''))
refused(1, 'huge.png: a picture of 900000 x 900000', 'run', 'nchw.so', '--input', 'huge.png')

# ---- pictures to calibrate with make the model that their values in an array make; other pictures, another one
run('zoo', 'tiny_ic', '-o', 'ic.onnx')
os.mkdir('shots')
made = []
for turn in range(2):
    values = array.array('f')
    for i in range(3):
        rows = [[draw.randrange(256) for _ in range(3 * 32)] for _ in range(32)]
        png(f'shots/{i}.png', 32, 32, 8, 2, rows)
        values.extend(row[3 * x + c] / 127.5 - 1 for c in range(3) for row in rows for x in range(32))
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3, 32, 32), }".ljust(117) + '\n'
    open('shots.npy', 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + values.tobytes())
    for calib in (['shots', '--preprocess', 'tf'], ['shots.npy'], ['shots/1.png', '--preprocess', 'tf']):
        run('quantize', 'ic.onnx', '--calib', *calib, '-o', 'q.onnx')
        made.append(open('q.onnx', 'rb').read())
assert made[0] == made[1] and made[3] == made[4] and len(set(made)) == 4, f'calibration (seed {seed})'
print('ok   calibration with pictures')
assert "prepared as 'imagenet'" in run('quantize', 'ic.onnx', '--calib', 'shots', '-o', 'q.onnx').stderr
refused(2, "no 'tff'", 'quantize', 'ic.onnx', '--calib', 'shots', '--preprocess', 'tff', '-o', 'none.onnx')
refused(2, "no 'tff'", 'compile', 'ic.onnx', '--target', 'vta', '--calib', 'shots', '--preprocess', 'tff', '-o', 'none.so')
open('shots/0.png', 'wb').write(whole[:40])
refused(1, 'shots/0.png: it is a damaged PNG', 'quantize', 'ic.onnx', '--calib', 'shots', '--preprocess', 'tf', '-o', 'none.onnx')
assert not os.path.exists('none.onnx') and not os.path.exists('none.so')

# ---- JPEG files of blocks of one grey each, written here: how the camera was held (Exif) turns what the model sees

def jpeg(path, blocks, exif=b''):
    """`blocks`: rows of greys, 8 x 8 pixels each; of the transform, only the means."""
    bits, before = '', 128
    for grey in (grey for row in blocks for grey in row):
        step, before = grey - before, grey
        size = abs(step).bit_length()
        bits += format(size, '04b') + (format(step if step > 0 else step + 2 ** size - 1, f'0{size}b') if size else '') + '0'
    bits += '1' * (-len(bits) % 8)
    scan = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b'\xff', b'\xff\0')
    parts = [(0xe1, exif)] if exif else []
    parts += [(0xdb, bytes([0] + [8] * 64)), (0xc0, struct.pack('>BHHBBBB', 8, 8 * len(blocks), 8 * len(blocks[0]), 1, 1, 0x11, 0)),
              (0xc4, bytes([0, 0, 0, 0, 12] + [0] * 12) + bytes(range(12))), (0xc4, bytes([16, 1] + [0] * 15 + [0])),
              (0xda, bytes([1, 1, 0, 0, 63, 0]))]
    data = b''.join(b'\xff' + bytes([kind]) + struct.pack('>H', len(part) + 2) + part for kind, part in parts)
    open(path, 'wb').write(b'\xff\xd8' + data + scan + b'\xff\xd9')


def exif(orientation, order='>', kind=3, count=1, directory=8):
    entries = [(0x100, 4, 1, 24), (0x112, kind, count, None), (0x131, 2, 4, 0x61626300)]
    data = struct.pack(order + '2sHI', b'MM' if order == '>' else b'II', 42, directory) + struct.pack(order + 'H', len(entries))
    for tag, type_, many, value in entries:
        data += struct.pack(order + 'HHI', tag, type_, many)
        data += struct.pack(order + 'I', value) if value is not None else struct.pack(order + 'HH', orientation, 0)
    return b'Exif\0\0' + data + bytes(4)


# Sides that row 0 and column 0 of the file belong to, in the words of the standard.
SIDES = {1: ('top', 'left'), 2: ('top', 'right'), 3: ('bottom', 'right'), 4: ('bottom', 'left'),
         5: ('left', 'top'), 6: ('right', 'top'), 7: ('right', 'bottom'), 8: ('left', 'bottom')}


def stored(shown, orientation):
    columns = [list(column) for column in zip(*shown)]
    row, column = SIDES[orientation]
    lines = shown if row in ('top', 'bottom') else columns
    lines = lines if row in ('top', 'left') else lines[::-1]
    return [line if column in ('top', 'left') else line[::-1] for line in lines]


def pixels_of(blocks):
    return [grey for row in blocks for _ in range(8) for grey in row for _ in range(24)]


model('turned', 'u8', [1, 16, 24, 3])
model('square', 'u8', [1, 16, 16, 3])
for order in '<', '>':
    shown = [[draw.randrange(256) for _ in range(3)] for _ in range(2)]
    jpeg('plain.jpg', shown)
    check('a JPEG picture of our own', through('turned', 'B', 'plain.jpg'), pixels_of(shown))
    for orientation in SIDES:
        jpeg('turned.jpg', stored(shown, orientation), exif(orientation, order))
        check(f'orientation {orientation}, {order}', through('turned', 'B', 'turned.jpg'), pixels_of(shown))
shown = [[draw.randrange(256) for _ in range(2)] for _ in range(2)]
damaged = [exif(0), exif(9), exif(0x300), exif(6, kind=4), exif(6, count=2), exif(6, directory=2 ** 32 - 1), exif(6, directory=48),
           exif(6)[:25], exif(6)[:14], b'Exif\0\0', b'Exif', exif(6).replace(b'MM', b'MI')]
for data in damaged:
    jpeg('odd.jpg', shown, data)
    check(f'Exif data that say nothing: {data[6:18].hex()}', through('square', 'B', 'odd.jpg'), pixels_of(shown))
possible = [pixels_of(stored(shown, orientation)) for orientation in SIDES]
for _ in range(40):
    data = bytearray(exif(draw.randrange(1, 9), draw.choice('<>')))
    for _ in range(draw.randrange(1, 6)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    jpeg('odd.jpg', shown, bytes(data[:draw.randrange(1, len(data) + 1)]))
    assert through('square', 'B', 'odd.jpg') in possible, f'damaged Exif data {bytes(data).hex()} (seed {seed})'
print('ok   damaged Exif data')

# ---- the whole way of a JPEG file to a model's input, and what is cut off
for columns, rows in ((5, 7), (12, 4)):
    shown = [[draw.randrange(256) for _ in range(columns)] for _ in range(rows)]
    jpeg('whole.jpg', shown)
    want = prepared(8 * columns, 8 * rows, 0.875, [[grey for grey in row for _ in range(24)] for row in shown for _ in range(8)])
    blues, greens, reds = (want[i:i + 48] for i in (0, 48, 96))
    want = [v - mean for plane, mean in ((blues, 104), (greens, 117), (reds, 123)) for v in plane]
    check(f'a JPEG picture of {columns} x {rows} blocks, prepared', through('small', 'f', 'whole.jpg', '--preprocess', 'caffe'), want, 1.01)
whole = open('whole.jpg', 'rb').read()
for length in (3, 30, len(whole) // 2, len(whole) - 20):
    open('cut.jpg', 'wb').write(whole[:length])
    refused(1, 'cut.jpg: it is a damaged JPEG picture', 'run', 'small.so', '--input', 'cut.jpg')

# ---- and of a photograph, as another engine prepared it
goldfish = f'{shared}/images/goldfish.jpg'
if os.path.exists(goldfish):
    model('big', 'f32', [1, 3, 224, 224])
    want = npy(f'{shared}/golden/squeezenet1.1_fp32_from_fp16/goldfish_in.npy', 'f')
    check('a JPEG picture as the reference prepared it', through('big', 'f', goldfish, '--preprocess', 'caffe'), want, 1.0)
    whole = open(goldfish, 'rb').read()
    for length in (3, 30, 700, len(whole) // 2, len(whole) - 300):
        open('cut.jpg', 'wb').write(whole[:length])
        refused(1, 'cut.jpg: it is a damaged JPEG picture', 'run', 'big.so', '--input', 'cut.jpg')
