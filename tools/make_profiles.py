#!/usr/bin/env python3
"""Writes the layer profiles of experiments/profiles/ from arithmetic and published figures.

Usage: tools/make_profiles.py [DIRECTORY]

Gradient bytes: 4 (fp32) x the parameters of a layer, counted from the architecture; batch norm
and layer norm belong to the layer that they follow or precede.

Times: one published figure gives the time of a whole training step on one accelerator; it is
divided among the layers in proportion to their multiply-adds, a third of it to the forward and two
thirds to the backward pass (a backward pass makes two products where the forward makes one). What
the published step holds besides (optimizer, normalisation, loss) is thereby spread over the layers,
and layers that are bound by memory rather than arithmetic get less than they took: the profile is
right in its total and in its bytes, and only near in each layer.
"""
import os
import sys


class Layer:
    """A layer's name, parameters, and multiply-adds of one sample's forward pass."""

    def __init__(self, name, parameters, multiply_adds):
        self.name = name
        self.parameters = parameters
        self.multiply_adds = multiply_adds


def convolution(name, inputs, outputs, kernel, side, bias=False, norm=False):
    """A square convolution whose output has side x side pixels, with what follows it."""
    weights = inputs * outputs * kernel * kernel
    extra = outputs * (bias + 2 * norm)
    return Layer(name, weights + extra, weights * side * side)


def linear(name, inputs, outputs, tokens=1, extra=0, bias=True):
    """A dense layer over `tokens` vectors; `extra` parameters of a norm beside it."""
    return Layer(name, inputs * outputs + outputs * bias + extra, inputs * outputs * tokens)


def resnet50():
    """He et al. 2015; as in torchvision, the 3x3 of a block has its stride (v1.5)."""
    layers = [convolution("conv1", 3, 64, 7, 112, norm=True)]
    inputs = 64
    for stage, (width, blocks, side) in enumerate([(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)], 1):
        for block in range(blocks):
            at = "layer%d.%d." % (stage, block)
            strided = block == 0 and stage > 1
            before = side * 2 if strided else side
            layers.append(convolution(at + "conv1", inputs, width, 1, before, norm=True))
            layers.append(convolution(at + "conv2", width, width, 3, side, norm=True))
            layers.append(convolution(at + "conv3", width, width * 4, 1, side, norm=True))
            if block == 0:
                layers.append(convolution(at + "downsample", inputs, width * 4, 1, side, norm=True))
            inputs = width * 4
    layers.append(linear("fc", 2048, 1000))
    return layers


def vgg16():
    """Simonyan and Zisserman 2014, configuration D, without batch norm."""
    layers = []
    inputs = 3
    for stage, (width, count, side) in enumerate([(64, 2, 224), (128, 2, 112), (256, 3, 56), (512, 3, 28), (512, 3, 14)], 1):
        for i in range(1, count + 1):
            layers.append(convolution("conv%d_%d" % (stage, i), inputs, width, 3, side, bias=True))
            inputs = width
    layers += [linear("fc6", 512 * 7 * 7, 4096), linear("fc7", 4096, 4096), linear("fc8", 4096, 1000)]
    return layers


def transformer_blocks(name, count, width, tokens):
    """Blocks of attention and a feed-forward pair; each pair of sublayers has two layer norms."""
    layers = []
    for i in range(count):
        at = "%s.%d." % (name, i)
        layers.append(linear(at + "qkv", width, 3 * width, tokens, extra=2 * width))
        output = linear(at + "attention", width, width, tokens)
        output.multiply_adds += 2 * tokens * tokens * width  # scores, and values weighted by them
        layers.append(output)
        layers.append(linear(at + "mlp1", width, 4 * width, tokens, extra=2 * width))
        layers.append(linear(at + "mlp2", 4 * width, width, tokens))
    return layers


def bert_large(tokens=128, predicted=20, vocabulary=30522, width=1024):
    """Devlin et al. 2018, with both heads of pre-training; the decoder shares the embedding."""
    embedding = Layer("embeddings", (vocabulary + 512 + 2) * width + 2 * width, 0)
    heads = [
        linear("pooler", width, width),
        linear("head.transform", width, width, predicted, extra=2 * width),
        # The decoder's weight is the embedding's, its bias is its own.
        Layer("head.decoder", vocabulary, width * vocabulary * predicted),
        linear("head.next_sentence", width, 2),
    ]
    return [embedding] + transformer_blocks("encoder", 24, width, tokens) + heads


def gpt2_large(tokens=1024, vocabulary=50257, width=1280):
    """Radford et al. 2019, 36 layers; the last product shares the embedding."""
    embedding = Layer("embeddings", (vocabulary + 1024) * width, 0)
    heads = [Layer("ln_f", 2 * width, 0), Layer("lm_head", 0, width * vocabulary * tokens)]
    return [embedding] + transformer_blocks("h", 36, width, tokens) + heads


NVIDIA = "NVIDIA DeepLearningExamples, PyTorch/"

# file, layers, samples a step, seconds a step, source: one string a line.
def profiles():
    gpt2 = gpt2_large()
    # 3 passes' worth of multiply-adds, 2 operations each, for 8 sequences.
    gpt2_operations = 8 * 3 * 2 * sum(layer.multiply_adds for layer in gpt2)
    return [
        ("resnet50", resnet50(), 256, 256 / 938, [
            "ResNet-50 (v1.5), 25,557,032 parameters, batch 256 on one A100 80GB, TF32:",
            "938 images/s, " + NVIDIA + "Classification/ConvNets/resnet50v1.5/README.md,",
            "'Training performance: NVIDIA DGX A100', 1 GPU, container pytorch-21.03.",
        ]),
        ("vgg16", vgg16(), 64, 64 / 154, [
            "VGG-16, 138,357,544 parameters, batch 64 on one Tesla P100 (DGX-1), fp32:",
            "154 images/s, tensorflow.org/performance/benchmarks (May 2017),",
            "'Training synthetic data', 1 GPU.",
        ]),
        ("bert_large", bert_large(), 32, 32 / 40.32, [
            "BERT-large with the heads of pre-training (masked words, decoder tied to the embedding, and next",
            "sentence), vocabulary 30,522: 336,226,108 parameters. Batch 32 of 128 tokens on one V100 32GB, fp32:",
            "40.32 sequences/s, " + NVIDIA + "LanguageModeling/BERT/README.md (March 2020),",
            "'Pre-training NVIDIA DGX-1 With 32G', 1 GPU.",
        ]),
        ("gpt2_780m", gpt2, 8, gpt2_operations / 39e12, [
            "GPT-2 large (36 layers, 1,280 wide), 774,030,080 parameters, 3.10 GB of fp32 gradient; often",
            "quoted as 0.78 billion and so 3.12 GB. Batch 8 of 1,024 tokens on one V100 32GB, mixed precision,",
            "at the 39 teraFLOP/s that Shoeybi et al. 2019 (Megatron-LM, arXiv:1909.08053) sustain with",
            "GPT-2 of 1.2 billion parameters on one; gradients are sent as fp32.",
        ]),
    ]


def text(layers, batch, step_s, source):
    """A profile as textproto."""
    total = sum(layer.multiply_adds for layer in layers)
    lines = ["# Written by tools/make_profiles.py, which says how the times of layers are derived."]
    lines.append("source:")
    lines += ['    "%s"' % (line + (" " if i + 1 < len(source) else "")) for i, line in enumerate(source)]
    lines.append("batch: %d" % batch)
    for layer in layers:
        ms = 1000 * step_s * layer.multiply_adds / total
        lines.append('layers { name: "%s" forward_ms: %.4f backward_ms: %.4f gradient_bytes: %d }' %
                     (layer.name, ms / 3, ms * 2 / 3, 4 * layer.parameters))
    return "\n".join(lines) + "\n"


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "experiments", "profiles")
    os.makedirs(directory, exist_ok=True)
    for name, layers, batch, step_s, source in profiles():
        with open(os.path.join(directory, name + ".textproto"), "w", encoding="utf-8") as file:
            file.write(text(layers, batch, step_s, source))
        print("%-10s %3d layers %12d parameters %9.1f ms a step, %6.2f GMAC a sample" % (
            name, len(layers), sum(layer.parameters for layer in layers), 1000 * step_s,
            sum(layer.multiply_adds for layer in layers) / 1e9))


if __name__ == "__main__":
    main()
