import pytest

from helpers.commands import run_command, run_failing
from helpers.plugin import install_plugin
from shaketable.cli.commands import COMMANDS, GROUPS

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

class Clumsy(Hail):
    def add_flags(self, parser):
        raise RuntimeError("no\\nflags")

class Percent(Hail):
    def add_flags(self, parser):
        parser.add_argument("--share", help="50% of it")

    def run(self, args):
        return 0

def read_size(text):
    return {"small": 1}[text]

class Picky(Hail):
    def add_flags(self, parser):
        parser.add_argument("--size", type=read_size)

    def run(self, args):
        return args.size

class Crash(Hail):
    def run(self, args):
        raise RuntimeError("no\\nluck")

class Yes(Hail):
    def run(self, args):
        return True

class Large(Hail):
    def run(self, args):
        return 256

class Refusal(Hail):
    def run(self, args):
        import shaketable
        raise shaketable.InputError("roof must be flat")

class Weather:
    ABOUT = 5

class Evaluate(Hail):
    pass

class Leave(Hail):
    def run(self, args):
        raise SystemExit(0)

class Flee(Hail):
    def add_flags(self, parser):
        raise SystemExit(0)

leave, flee = Leave(), Flee()
hail, silent, twice, weather, evaluate = Hail(), Silent(), Twice(), Weather(), Evaluate()
clumsy, percent, crash, yes, large = Clumsy(), Percent(), Crash(), Yes(), Large()
refusal, picky = Refusal(), Picky()
"""


@pytest.fixture
def hail(monkeypatch, tmp_path):
    names = ["hail", "silent", "twice", "weather", "evaluate", "gone", "clumsy", "percent"]
    names += ["crash", "yes", "large", "refusal", "picky", "leave", "flee"]
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
        (["silent", "roof"], "'silent' of an installed package must return its exit code, a whole"),
        (["yes", "roof"], "a whole number from 0 to 255, got True; update the package"),
        (["large", "roof"], "a whole number from 0 to 255, got 256; update the package"),
        (["twice"], "failed to declare its flags: ArgumentError: argument --debug: conflicting"),
        (["clumsy"], "'clumsy' of an installed package failed to declare its flags: RuntimeError"),
        (["refusal", "roof"], "roof must be flat"),
        (["weather"], "it lacks ABOUT, add_flags, run"),
        (["gone"], "'gone' of an installed package cannot be loaded"),
        (["lost"], "'lost' of an installed package cannot be loaded"),
    ],
)
def test_what_other_packages_get_wrong_is_one_line(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


@pytest.mark.usefixtures("hail")
def test_a_failing_command_of_another_package_is_named(capsys):
    err = run_failing(capsys, "crash", "roof", code=4)
    assert "command 'crash' of an installed package failed: RuntimeError: no luck; update" in err
    err = run_failing(capsys, "leave", "roof")
    assert "command 'leave' of an installed package failed: sys.exit(0); update" in err
    err = run_failing(capsys, "flee")
    assert "command 'flee' of an installed package failed to declare its flags: sys.exit(0)" in err


@pytest.mark.usefixtures("hail")
def test_whatever_the_type_of_a_flag_raises_names_the_flag(capsys):
    assert run_command(capsys, "picky", "--size", "small")[0] == 1
    err = run_failing(capsys, "picky", "--size", "huge")
    assert "argument --size: cannot be read: KeyError: 'huge'" in err


@pytest.mark.usefixtures("hail")
def test_a_bare_percent_sign_in_a_help_text_breaks_only_the_help(capsys):
    err = run_failing(capsys, "percent", "--help")
    assert "the help of 'shaketable percent' cannot be shown" in err
    assert run_command(capsys, "percent", "--share", 1) == (0, "", "")


@pytest.mark.usefixtures("hail")
def test_a_broken_command_of_another_package_does_not_break_the_list(capsys):
    with pytest.raises(SystemExit) as stop:
        run_command(capsys, "--help")
    assert stop.value.code == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "lost cannot be used: command 'lost' of an installed package cannot be loaded" in listed


def test_every_command_is_listed_in_one_group(capsys):
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS.declared)
    with pytest.raises(SystemExit):
        run_command(capsys, "--help")
    listed = capsys.readouterr().out
    for title, names in GROUPS.items():
        block = listed.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines() if line[2] != " "] == [*names]
