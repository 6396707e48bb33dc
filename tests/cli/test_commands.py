import pytest

from helpers.commands import run_command, run_failing
from helpers.plugin import install_plugin
from shaketable.cli.commands import COMMANDS

pytestmark = pytest.mark.usefixtures("own_directory")

HAIL = """
class Hail:
    ABOUT = "hail on a model, 100 % of the time"

    def add_flags(self, parser):
        parser.add_argument("file")
        parser.add_argument("--model", default=None)
        parser.add_argument("--stones", type=int, default=3)

    def run(self, args):
        print(args.stones, "stones on", args.file)
        return 1

class Silent(Hail):
    def run(self, args):
        pass

class Twice(Hail):
    def add_flags(self, parser):
        parser.add_argument("--debug")

class Weather:
    ABOUT = 5

class Evaluate(Hail):
    pass

hail, silent, twice, weather, evaluate = Hail(), Silent(), Twice(), Weather(), Evaluate()
"""


@pytest.fixture
def hail(monkeypatch, tmp_path):
    names = ["hail", "silent", "twice", "weather", "evaluate", "gone"]
    install_plugin(
        monkeypatch,
        tmp_path,
        COMMANDS,
        name="hailstorm",
        source=HAIL,
        entry_points={name: f"hailstorm:{name}" for name in names} | {"lost": "nowhere:lost"},
    )


@pytest.mark.usefixtures("hail")
def test_commands_of_other_packages_are_run_and_listed(capsys):
    assert run_command(capsys, "hail", "roof.toml", "--stones", 7) == (
        1,
        "7 stones on roof.toml\n",
        "",
    )
    with pytest.raises(SystemExit):
        run_command(capsys, "--help")
    listed = capsys.readouterr().out
    assert "hail on a model, 100 % of the time" in listed
    assert "measure models under noise" in listed
    assert "did you mean 'hail'" in run_failing(capsys, "hial", "roof")
    assert "did you mean '--stones'" in run_failing(capsys, "hail", "roof", "--stnes", "5")


@pytest.mark.usefixtures("hail")
def test_ours_cannot_be_replaced(capsys):
    assert "--model must name" in run_failing(capsys, "evaluate", "--data", "iris")


@pytest.mark.usefixtures("hail")
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["silent", "roof"], "must return its exit code, a whole number, got None"),
        (["twice"], "declares its flags wrongly"),
        (["weather"], "it lacks ABOUT, add_flags, run"),
        (["gone"], "'gone' of an installed package cannot be loaded"),
        (["lost"], "'lost' of an installed package cannot be loaded"),
    ],
)
def test_what_other_packages_get_wrong_is_one_line(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


@pytest.mark.usefixtures("hail")
def test_a_broken_command_of_another_package_does_not_break_the_list(capsys):
    with pytest.raises(SystemExit) as stop:
        run_command(capsys, "--help")
    assert stop.value.code == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "lost cannot be used: command 'lost' of an installed package cannot be loaded" in listed
