"""Every family against what was published about it, and by what all networks must do."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402  (needs torch)

from shaketable.core.errors import InputError  # noqa: E402
from shaketable.models.loading import load_model  # noqa: E402
from shaketable.models.networks.densenet import DenseNet  # noqa: E402
from shaketable.models.networks.layers import ImageForm  # noqa: E402
from shaketable.models.networks.registry import (  # noqa: E402
    NETWORKS,
    build_network,
    count_parameters,
)
from shaketable.models.networks.resnext import ResNeXt  # noqa: E402

IMAGE_NETWORKS = [name for name in NETWORKS if name != "mlp"]
SMALL = {"resnet9": "resnet9(width=2)", "wrn": "wrn(depth=10, width=1)", "mlp": "mlp(width=8)"}
CIFAR, IMAGENET = (32, 32, 3), (224, 224, 3)


def build_meta(spec, shape, classes):
    """A network without memory for its weights."""
    with torch.device("meta"):
        return build_network(spec, shape=shape, classes=classes)


@pytest.mark.parametrize(
    ("spec", "shape", "classes", "count"),
    [
        # torchvision states these
        ("alexnet", IMAGENET, 1000, 61_100_840),
        ("resnet-50", IMAGENET, 1000, 25_557_032),
        ("vgg-19", IMAGENET, 1000, 143_667_240),
        ("vgg-19-bn", IMAGENET, 1000, 143_678_248),
        # the usual forms for CIFAR
        ("resnet-50", CIFAR, 10, 23_520_842),
        ("vgg-19-bn", CIFAR, 10, 20_040_522),
        ("resnet9", CIFAR, 10, 6_573_130),
        # Zagoruyko and Komodakis, Tables 4 and 5: 0.6, 2.2, 8.9, 11.0, 17.2 and 36.5 M
        ("wrn(depth=40, width=1)", CIFAR, 10, 0.6e6),
        ("wrn(depth=40, width=2)", CIFAR, 10, 2.2e6),
        ("wrn(depth=40, width=4)", CIFAR, 10, 8.9e6),
        ("wrn(depth=16, width=8)", CIFAR, 10, 11.0e6),
        ("wrn(depth=22, width=8)", CIFAR, 10, 17.2e6),
        ("wrn-28-10", CIFAR, 10, 36.5e6),
        ("wrn-28-10", CIFAR, 10, 36_479_194),
        ("wrn-28-4", CIFAR, 10, 5_849_050),
        # of our own count
        ("densenet-201-12", CIFAR, 10, 2_604_490),
        ("resnext-29-32x4d", CIFAR, 10, 4_775_754),
        ("alexnet", CIFAR, 10, 36_054_858),
    ],
)
def test_networks_have_as_many_parameters_as_published(spec, shape, classes, count):
    # a count in millions is rounded to one decimal
    tolerance = 0.05e6 if isinstance(count, float) else 0
    assert abs(count_parameters(build_meta(spec, shape, classes)) - count) <= tolerance


@pytest.mark.parametrize(
    ("make", "count"),
    [
        # Huang et al., Table 2: DenseNet-BC (k = 12), 100 layers: 0.8 M
        (lambda form: DenseNet(form, 10, blocks=(16, 16, 16), growth=12), 0.8e6),
        # Xie et al., Table 7: 34.4 M and 68.1 M
        (lambda form: ResNeXt(form, 10, cardinality=8, width=64), 34.4e6),
        (lambda form: ResNeXt(form, 10, cardinality=16, width=64), 68.1e6),
    ],
)
def test_families_have_as_many_parameters_as_their_published_members(make, count):
    with torch.device("meta"):
        assert abs(count_parameters(make(ImageForm(3, 32))) - count) < 0.06e6


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("wrn-28-10", 28 + 1),  # its name counts convolutions alone
        ("wrn-28-4", 28 + 1),
        ("densenet-201-12", 201),
        ("resnext-29-32x4d", 29 + 3),  # three shortcuts have a convolution, too
        ("resnet-50", 50 + 4),
        ("vgg-19-bn", 17),  # one linear layer in place of three
        ("alexnet", 8),
        ("resnet9", 9),
    ],
)
def test_networks_have_as_many_layers_as_their_names_say(name, layers):
    network = build_meta(name, CIFAR, 10)
    counted = sum(isinstance(part, nn.Conv2d | nn.Linear) for part in network.modules())
    assert counted == layers


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
@pytest.mark.parametrize("side", [8, 28, 224])
def test_scores_have_one_column_per_class(name, side):
    network = build_meta(name, (side, side, 3), 7)
    assert network(torch.zeros(2, 3, side, side, device="meta")).shape == (2, 7)


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_the_first_stage_has_stride_2_at_64(name):
    """So the pixels of all later layers are those of images of 32x32."""

    def sizes(side):
        network, found = build_meta(name, (side, side, 3), 10), []
        for part in network.modules():
            if isinstance(part, nn.Conv2d):
                part.register_forward_hook(lambda _, x, y: found.append((x[0].shape, y.shape)))
        network(torch.zeros(2, 3, side, side, device="meta"))
        return found, count_parameters(network)

    (small, count), (large, large_count) = sizes(32), sizes(64)
    assert len(small) == len(large) > 0
    same = [a == b for a, b in zip(small, large, strict=True)]
    assert not same[0]
    assert all(same[5:])
    assert count == large_count


@pytest.mark.parametrize(
    ("shape", "channels"),
    [((8, 8, 1), 1), ((8, 8), 1), ((4, 8, 8), 4), ((9, 8, 4), 4), ((5, 8, 8), 5)],
)
def test_images_may_have_any_channels(shape, channels):
    for name in ("resnet9", "wrn-28-4", "resnet-50", "vgg-19", "alexnet"):
        network = build_meta(name, shape, 2)
        (first, *_) = (part for part in network.modules() if isinstance(part, nn.Conv2d))
        assert first.in_channels == channels


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("alexnet", {"features.0.weight": (64, 3, 11, 11), "features.10.bias": (256,)}),
        ("alexnet", {"classifier.1.weight": (4096, 9216), "classifier.6.bias": (1000,)}),
        ("vgg-19", {"features.0.weight": (64, 3, 3, 3), "features.34.bias": (512,)}),
        ("vgg-19", {"classifier.0.weight": (4096, 25088), "classifier.6.weight": (1000, 4096)}),
        ("vgg-19-bn", {"features.49.weight": (512, 512, 3, 3), "features.50.running_mean": (512,)}),
        ("vgg-19-bn", {"classifier.3.weight": (4096, 4096)}),
        ("resnet-50", {"conv1.weight": (64, 3, 7, 7), "bn1.running_var": (64,)}),
        ("resnet-50", {"layer1.0.downsample.0.weight": (256, 64, 1, 1)}),
        ("resnet-50", {"layer1.0.downsample.1.num_batches_tracked": ()}),
        ("resnet-50", {"layer3.5.conv2.weight": (256, 256, 3, 3), "layer4.2.bn3.bias": (2048,)}),
        ("resnet-50", {"fc.weight": (1000, 2048), "fc.bias": (1000,)}),
    ],
)
def test_parameters_have_the_names_of_torchvision(name, keys):
    state = build_meta(name, IMAGENET, 1000).state_dict()
    assert {key: tuple(state[key].shape) for key in keys} == keys
    assert len(state) == {"alexnet": 16, "vgg-19": 38, "vgg-19-bn": 118, "resnet-50": 320}[name]


@pytest.mark.parametrize(
    ("name", "side", "padding"),
    [("alexnet", 3, 0), ("vgg-19", 2, 0), ("resnet-50", 3, 1)],
)
def test_imagenet_networks_pool_in_the_published_windows(name, side, padding):
    # at every second pixel, so that windows of three overlap (Krizhevsky et al., 3.4)
    pools = [
        part
        for part in build_meta(name, IMAGENET, 1000).modules()
        if isinstance(part, nn.MaxPool2d)
    ]
    x = torch.rand(1, 2, 14, 14, generator=torch.Generator().manual_seed(0))
    padded = nn.functional.pad(x, (padding,) * 4, value=-1)
    expected = padded.unfold(2, side, 2).unfold(3, side, 2).amax((4, 5))
    assert pools
    for pool in pools:
        assert torch.equal(pool(x), expected)


@pytest.mark.parametrize(
    "name", ["resnet9", "mlp", "wrn", "wrn-28-4", "densenet-201-12", "resnext-29-32x4d"]
)
def test_gradients_reach_every_parameter(name):
    torch.manual_seed(0)
    network = build_network(SMALL.get(name, name), shape=(8, 8, 3), classes=3, seed=0)
    x = torch.rand(4, 3, 8, 8, requires_grad=True)
    nn.functional.cross_entropy(network(x), torch.tensor([0, 1, 2, 0])).backward()
    dead = [key for key, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert dead == []
    assert x.grad.any()


@pytest.mark.parametrize("spec", ["resnet9(width=4)", "mlp(width=32, depth=2)"])
def test_a_small_network_learns_in_seconds(spec):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(128, 3, 8, 8, generator=generator)
    y = (x[:, 0, :, :4].mean((1, 2)) > x[:, 0, :, 4:].mean((1, 2))).long()
    network = build_network(spec, shape=(8, 8, 3), classes=2, seed=0)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    accuracy = (network.eval()(x).argmax(1) == y).float().mean()
    assert accuracy > 0.9


@pytest.mark.parametrize("spec", ["wrn(depth=10, width=2)", "resnext-29-32x4d"])
def test_weights_are_those_of_he(spec):
    network = build_network(spec, shape=CIFAR, classes=10, seed=0)
    for part in network.modules():
        if isinstance(part, nn.Conv2d) and part.weight.numel() > 1000:
            fan = part.out_channels * part.kernel_size[0] ** 2  # published for groups, too
            n = part.weight.numel()
            # the sample variance of n normals, relative to their variance, has sd sqrt(2 / n)
            variance = float(part.weight.detach().var()) / (2 / fan)
            assert variance == pytest.approx(1, abs=5 * (2 / n) ** 0.5)
    assert not network.linear.bias.any()


def test_published_weights_are_loaded_by_the_name_of_their_network(tmp_path):
    network = build_network("resnet-50", shape=IMAGENET, classes=5, seed=0)
    old = {k: v for k, v in network.state_dict().items() if "num_batches" not in k}
    torch.save(old, tmp_path / "resnet50.pth")  # as torchvision published them
    source = f"resnet-50@{tmp_path / 'resnet50.pth'}"
    model, unfitted = load_model(source, shape=IMAGENET)
    assert not unfitted
    x = torch.rand(1, 3, 32, 32)
    assert torch.equal(model.eval()(x), network.eval()(x))
    with pytest.raises(InputError, match=r"'resnet-50' for points of shape \(32, 32, 3\): Error"):
        load_model(source, shape=CIFAR)
    with pytest.raises(InputError, match=r"'resnet-50' must be made for points of some shape, "):
        load_model(source)
    with pytest.raises(InputError, match="unknown model 'resnet-5@none'"):
        load_model("resnet-5@none")
