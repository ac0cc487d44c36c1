"""Triton kernels for batch-norm, ReLU and windows over a shared background map.

Maps are stored channels-last. ``V`` are windows of (h, w) px, one in each image; window m begins ``grow`` px up and
left of ``corner[m]`` = (x, y). ``B`` is the background's map of (H, W) px. Programs below ``window_blocks`` work on
pixels of the windows, those above on pixels of the background. ``copies`` images share each window.

Gradients in half precision are stored divided by ``unit``, which is chosen so that the largest are about 1/16.
"""

import triton
import triton.language as tl

BLOCK = 64  # pixels per program
BASE = 16  # background pixels per program that gathers from all windows
HEADROOM = tl.constexpr(16.0)  # between the largest gradient and one


@triton.jit
def _locate(p, corner, valid, h, w, grow, H, W):
    """Window, row and column of each pixel, its position in the image, and whether that is inside the image."""
    m = p // (h * w)
    row = (p % (h * w)) // w
    column = p % w
    x = tl.load(corner + 2 * m, mask=valid, other=0) - grow + column
    y = tl.load(corner + 2 * m + 1, mask=valid, other=0) - grow + row
    inside = valid & (y >= 0) & (y < H) & (x >= 0) & (x < W)
    return m, row, column, y, x, inside


@triton.jit
def _centre(B, H, W, c, C: tl.constexpr):
    """The background's middle pixel, subtracted from all values so that squares stay small."""
    return tl.load(B + ((H // 2) * W + W // 2) * C + c).to(tl.float32)


@triton.jit
def _wider(V, B, p, corner, valid, h, w, grow, around, H, W, c, C: tl.constexpr):
    """Pixels of windows ``around`` px larger: the window's own, the background's in the rim; and which are inside."""
    m, row, column, y, x, inside = _locate(p, corner, valid, h + 2 * around, w + 2 * around, grow + around, H, W)
    row -= around
    column -= around
    middle = (row >= 0) & (row < h) & (column >= 0) & (column < w)
    own = tl.load(V + ((m * h + row) * w + column)[:, None] * C + c, mask=(inside & middle)[:, None], other=0)
    rim = tl.load(B + (y * W + x)[:, None] * C + c, mask=(inside & (middle == 0))[:, None], other=0)
    return own.to(tl.float32) + rim.to(tl.float32), inside[:, None]


@triton.jit
def statistics(
    V, B, corner, partial, pixels, h, w, grow, H, W, window_blocks, copies, images,
    C: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sums of x and of x^2 over all pixels of all images, relative to the background's middle."""
    block = tl.program_id(0)
    c = tl.arange(0, C)
    centre = _centre(B, H, W, c, C)
    if block < window_blocks:
        p = block * BLOCK + tl.arange(0, BLOCK)
        valid = p < pixels
        _, _, _, y, x, inside = _locate(p, corner, valid, h, w, grow, H, W)
        inside = inside[:, None]
        v = tl.load(V + p[:, None] * C + c, mask=inside, other=0).to(tl.float32) - centre
        b = tl.load(B + (y * W + x)[:, None] * C + c, mask=inside, other=0).to(tl.float32) - centre
        first = tl.sum(tl.where(inside, v - b, 0), 0) * copies
        second = tl.sum(tl.where(inside, (v - b) * (v + b), 0), 0) * copies
    else:
        q = (block - window_blocks) * BLOCK + tl.arange(0, BLOCK)
        in_range = (q < H * W)[:, None]
        b = tl.load(B + q[:, None] * C + c, mask=in_range, other=0).to(tl.float32) - centre
        b = tl.where(in_range, b, 0)
        first = tl.sum(b, 0) * images
        second = tl.sum(b * b, 0) * images
    tl.store(partial + block * 2 * C + c, first)
    tl.store(partial + block * 2 * C + C + c, second)


@triton.jit
def normalisation(
    partial, blocks, B, weight, bias, running_mean, running_variance, tracked, norm, count, momentum, eps, H, W,
    C: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """``norm``: batch-norm's scale, shift, mean and 1 / s.d.; and its running averages, plain ones if momentum < 0."""
    c = tl.arange(0, C)
    row = tl.arange(0, ROWS)
    first = tl.zeros((ROWS, C), tl.float32)
    second = tl.zeros((ROWS, C), tl.float32)
    for begin in range(0, blocks, ROWS):
        in_range = (begin + row < blocks)[:, None]
        at = partial + (begin + row)[:, None] * 2 * C + c
        first += tl.load(at, mask=in_range, other=0)
        second += tl.load(at + C, mask=in_range, other=0)
    off = tl.sum(first, 0) / count
    variance = tl.maximum(tl.sum(second, 0) / count - off * off, 0.0)
    mean = _centre(B, H, W, c, C) + off
    inverse_sd = 1 / tl.sqrt(variance + eps)
    scale = tl.load(weight + c) * inverse_sd
    tl.store(norm + c, scale)
    tl.store(norm + C + c, tl.load(bias + c) - mean * scale)
    tl.store(norm + 2 * C + c, mean)
    tl.store(norm + 3 * C + c, inverse_sd)
    batches = tl.load(tracked) + 1
    part = tl.where(momentum < 0, 1 / batches.to(tl.float32), momentum)
    old_mean = tl.load(running_mean + c)
    old_variance = tl.load(running_variance + c)
    tl.store(running_mean + c, old_mean + part * (mean - old_mean))
    tl.store(running_variance + c, old_variance + part * (variance * (count / (count - 1)) - old_variance))
    tl.store(tracked, batches)


@triton.jit
def activation(
    V, B, corner, norm, A, A_base, pixels, h, w, grow, around, H, W, window_blocks,
    C: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Batch-norm and ReLU, of windows that are ``around`` px larger: the background in the rim, zero outside."""
    block = tl.program_id(0)
    c = tl.arange(0, C)
    scale, shift = tl.load(norm + c), tl.load(norm + C + c)
    if block < window_blocks:
        p = block * BLOCK + tl.arange(0, BLOCK)
        valid = p < pixels
        value, inside = _wider(V, B, p, corner, valid, h, w, grow, around, H, W, c, C)
        a = tl.where(inside, tl.maximum(value * scale + shift, 0.0), 0.0)
        tl.store(A + p[:, None] * C + c, a.to(A.dtype.element_ty), mask=valid[:, None])
    else:
        q = (block - window_blocks) * BLOCK + tl.arange(0, BLOCK)
        in_range = (q < H * W)[:, None]
        b = tl.load(B + q[:, None] * C + c, mask=in_range, other=0).to(tl.float32)
        a = tl.maximum(b * scale + shift, 0.0)
        tl.store(A_base + q[:, None] * C + c, a.to(A_base.dtype.element_ty), mask=in_range)


@triton.jit
def gradient_sums(
    V, B, A, A_base, of_A, of_A_base, corner, partial, pixels, h, w, grow, around, H, W, window_blocks,
    C: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sums of the gradient g at batch-norm's output and of g * x; and the largest |g|."""
    block = tl.program_id(0)
    c = tl.arange(0, C)
    centre = _centre(B, H, W, c, C)
    if block < window_blocks:
        p = block * BLOCK + tl.arange(0, BLOCK)
        valid = p < pixels
        value, _ = _wider(V, B, p, corner, valid, h, w, grow, around, H, W, c, C)
        a = tl.load(A + p[:, None] * C + c, mask=valid[:, None], other=0)
        g = tl.load(of_A + p[:, None] * C + c, mask=valid[:, None], other=0).to(tl.float32)
    else:
        q = (block - window_blocks) * BLOCK + tl.arange(0, BLOCK)
        in_range = (q < H * W)[:, None]
        value = tl.load(B + q[:, None] * C + c, mask=in_range, other=0).to(tl.float32)
        a = tl.load(A_base + q[:, None] * C + c, mask=in_range, other=0)
        g = tl.load(of_A_base + q[:, None] * C + c, mask=in_range, other=0).to(tl.float32)
    g = tl.where(a > 0, g, 0.0)
    tl.store(partial + block * 3 * C + c, tl.sum(g, 0))
    tl.store(partial + block * 3 * C + C + c, tl.sum(g * (value - centre), 0))
    tl.store(partial + block * 3 * C + 2 * C + c, tl.max(tl.abs(g), 0))


@triton.jit
def gradient_terms(
    partial, blocks, B, norm, unit, new_unit, of_weight, of_bias, terms, count, images, H, W,
    C: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Gradients of batch-norm's weight and bias, and ``terms``: a pixel's gradient apart from g * scale."""
    c = tl.arange(0, C)
    row = tl.arange(0, ROWS)
    first = tl.zeros((ROWS, C), tl.float32)
    second = tl.zeros((ROWS, C), tl.float32)
    largest = tl.zeros((ROWS, C), tl.float32)
    for begin in range(0, blocks, ROWS):
        in_range = (begin + row < blocks)[:, None]
        at = partial + (begin + row)[:, None] * 3 * C + c
        first += tl.load(at, mask=in_range, other=0)
        second += tl.load(at + C, mask=in_range, other=0)
        largest = tl.maximum(largest, tl.load(at + 2 * C, mask=in_range, other=0))
    one = tl.load(unit)
    scale, mean, inverse_sd = tl.load(norm + c), tl.load(norm + 2 * C + c), tl.load(norm + 3 * C + c)
    centre = _centre(B, H, W, c, C)
    sum_g = tl.sum(first, 0) * one
    of_scale = (tl.sum(second, 0) * one - (mean - centre) * sum_g) * inverse_sd
    constant = -scale * sum_g / count
    slope = -scale * inverse_sd * of_scale / count
    tl.store(of_bias + c, sum_g)
    tl.store(of_weight + c, of_scale)
    tl.store(terms + c, constant)
    tl.store(terms + C + c, slope)
    most = tl.max(tl.max(largest, 0) * tl.abs(scale), 0) * one
    everywhere = images * tl.max(tl.abs(constant) + 4 * tl.abs(slope) / inverse_sd, 0)
    tl.store(new_unit, tl.maximum(HEADROOM * (most + everywhere), 1e-30))


@triton.jit
def gradient(
    V, B, A, A_base, of_A, of_A_base, corner, norm, terms, unit, new_unit, of_V, of_B, pixels, windows, h, w, grow,
    around, H, W, window_blocks, copies, images,
    C: tl.constexpr, BLOCK: tl.constexpr, BASE: tl.constexpr,
):  # fmt: skip
    """Gradients of the windows' and the background's maps before batch-norm."""
    block = tl.program_id(0)
    c = tl.arange(0, C)
    scale, mean = tl.load(norm + c) * tl.load(unit), tl.load(norm + 2 * C + c)
    constant, slope = tl.load(terms + c), tl.load(terms + C + c)
    new = tl.load(new_unit)
    tall, wide = h + 2 * around, w + 2 * around
    if block < window_blocks:
        p = block * BLOCK + tl.arange(0, BLOCK)
        valid = p < pixels
        m, row, column, _, _, inside = _locate(p, corner, valid, h, w, grow, H, W)
        inside = inside[:, None]
        at = ((m * tall + row + around) * wide + column + around)[:, None] * C + c
        a = tl.load(A + at, mask=inside, other=0)
        g = tl.load(of_A + at, mask=inside, other=0).to(tl.float32)
        v = tl.load(V + p[:, None] * C + c, mask=inside, other=0).to(tl.float32)
        result = tl.where(a > 0, g, 0.0) * scale + copies * (constant + slope * (v - mean))
        result = tl.where(inside, result, 0.0) / new
        tl.store(of_V + p[:, None] * C + c, result.to(of_V.dtype.element_ty), mask=valid[:, None])
    else:
        q = (block - window_blocks) * BASE + tl.arange(0, BASE)
        in_range = q < H * W
        active = tl.load(A_base + q[:, None] * C + c, mask=in_range[:, None], other=0)
        extra = tl.load(of_A_base + q[:, None] * C + c, mask=in_range[:, None], other=0).to(tl.float32)
        total = tl.where(active > 0, extra, 0.0)
        covered = tl.zeros((BASE,), tl.float32)
        for n in range(windows):
            down = q // W - (tl.load(corner + 2 * n + 1) - grow)
            right = q % W - (tl.load(corner + 2 * n) - grow)
            near = in_range & (down >= -around) & (down < h + around) & (right >= -around) & (right < w + around)
            if tl.sum(near.to(tl.int32), 0) > 0:
                middle = near & (down >= 0) & (down < h) & (right >= 0) & (right < w)
                covered += middle.to(tl.float32)
                rim = (near & (middle == 0))[:, None]
                its = ((n * tall + down + around) * wide + right + around)[:, None] * C + c
                active = tl.load(A + its, mask=rim, other=0)
                extra = tl.load(of_A + its, mask=rim, other=0).to(tl.float32)
                total += tl.where(active > 0, extra, 0.0)
        b = tl.load(B + q[:, None] * C + c, mask=in_range[:, None], other=0).to(tl.float32)
        uncovered = (images - copies * covered)[:, None]
        total = (total * scale + uncovered * (constant + slope * (b - mean))) / new
        tl.store(of_B + q[:, None] * C + c, total.to(of_B.dtype.element_ty), mask=in_range[:, None])


@triton.jit
def spread(patch, base, corner, maps, h, w, grow, H, W, many, BLOCK: tl.constexpr):
    """Maps (m, H, W) of the windows and, around them, the background; ``many`` is 0 if all windows show the same."""
    m = tl.program_id(0)
    q = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    in_range = q < H * W
    row = q // W - (tl.load(corner + 2 * m + 1) - grow)
    column = q % W - (tl.load(corner + 2 * m) - grow)
    inside = in_range & (row >= 0) & (row < h) & (column >= 0) & (column < w)
    v = tl.load(patch + (many * m * h + row) * w + column, mask=inside, other=0).to(tl.float32)
    b = tl.load(base + q, mask=in_range & (inside == 0), other=0).to(tl.float32)
    tl.store(maps + m * H * W + q, v + b, mask=in_range)


@triton.jit
def spread_back(
    of_maps, corner, of_patch, of_base, windows, pixels, h, w, grow, H, W, window_blocks, BLOCK: tl.constexpr
):
    """The gradients of ``spread``, a window each."""
    block = tl.program_id(0)
    if block < window_blocks:
        p = block * BLOCK + tl.arange(0, BLOCK)
        valid = p < pixels
        m, _, _, y, x, inside = _locate(p, corner, valid, h, w, grow, H, W)
        tl.store(of_patch + p, tl.load(of_maps + (m * H + y) * W + x, mask=inside, other=0), mask=valid)
    else:
        q = (block - window_blocks) * BLOCK + tl.arange(0, BLOCK)
        in_range = q < H * W
        y, x = q // W, q % W
        total = tl.zeros((BLOCK,), tl.float32)
        for n in range(windows):
            down = y - (tl.load(corner + 2 * n + 1) - grow)
            right = x - (tl.load(corner + 2 * n) - grow)
            covered = (down >= 0) & (down < h) & (right >= 0) & (right < w)
            total += tl.load(of_maps + n * H * W + q, mask=in_range & (covered == 0), other=0)
        tl.store(of_base + q, total, mask=in_range)


@triton.jit
def decoder_input(
    z, code, corner, patch, pixels, h, w, grow, H, W, over, peak, faintest, C: tl.constexpr, BLOCK: tl.constexpr
):
    """A Gaussian at z, ``peak`` high, and the other channels of ``code`` (H, W, C); zero outside.

    ``over`` is 1 / (2 sigma^2).
    """
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    valid = p < pixels
    m, _, _, y, x, inside = _locate(p, corner, valid, h, w, grow, H, W)
    right = tl.load(z + 2 * m, mask=valid, other=0) - (x + 0.5)
    down = tl.load(z + 2 * m + 1, mask=valid, other=0) - (y + 0.5)
    along_x, along_y = -right * right * over, -down * down * over
    visible = inside & (along_x > faintest) & (along_y > faintest)
    gaussian = tl.where(visible, peak * (tl.exp(along_x) * tl.exp(along_y)), 0.0)
    c = tl.arange(0, C)
    others = tl.load(code + (y * W + x)[:, None] * C + c, mask=inside[:, None], other=0)
    tl.store(patch + p[:, None] * C + c, tl.where((c == 0)[None, :], gaussian[:, None], others), mask=valid[:, None])


@triton.jit
def decoder_input_back(
    z, of_patch, patch, corner, of_z, of_code, windows, h, w, grow, H, W, over, C: tl.constexpr, BLOCK: tl.constexpr
):
    """The gradients of ``decoder_input``: a program per window for z, then one per block of pixels for the code."""
    block = tl.program_id(0)
    c = tl.arange(0, C)
    if block < windows:
        m = block
        of_x = tl.zeros((BLOCK,), tl.float32)
        of_y = tl.zeros((BLOCK,), tl.float32)
        z_x, z_y = tl.load(z + 2 * m), tl.load(z + 2 * m + 1)
        left, top = tl.load(corner + 2 * m) - grow, tl.load(corner + 2 * m + 1) - grow
        for begin in range(0, h * w, BLOCK):
            r = begin + tl.arange(0, BLOCK)
            valid = r < h * w
            at = (m * h * w + r) * C
            pull = tl.load(of_patch + at, mask=valid, other=0) * tl.load(patch + at, mask=valid, other=0)
            of_x += pull * (z_x - (left + r % w + 0.5))
            of_y += pull * (z_y - (top + r // w + 0.5))
        tl.store(of_z + 2 * m, -2 * over * tl.sum(of_x, 0))
        tl.store(of_z + 2 * m + 1, -2 * over * tl.sum(of_y, 0))
    else:
        q = (block - windows) * BLOCK + tl.arange(0, BLOCK)
        in_range = q < H * W
        y, x = q // W, q % W
        total = tl.zeros((BLOCK, C), tl.float32)
        for n in range(windows):
            down = y - (tl.load(corner + 2 * n + 1) - grow)
            right = x - (tl.load(corner + 2 * n) - grow)
            near = in_range & (down >= 0) & (down < h) & (right >= 0) & (right < w)
            if tl.sum(near.to(tl.int32), 0) > 0:
                its = ((n * h + down) * w + right)[:, None] * C + c
                total += tl.load(of_patch + its, mask=near[:, None], other=0)
        total = tl.where((c == 0)[None, :], 0.0, total)
        tl.store(of_code + q[:, None] * C + c, total, mask=in_range[:, None])
