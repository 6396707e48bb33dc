import sys

import pytest

from shaketable.core.errors import InputError
from shaketable.core.importing import import_object


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"module 'faulty' fails when it is imported \(ZeroDivisionError: division"),
        ("def (", r"module 'faulty' fails when it is imported \(SyntaxError: invalid syntax"),
        ("import math; math.nix", r"fails when it is imported \(AttributeError: module 'math'"),
        ("raise SystemExit(3)", r"fails when it is imported \(sys.exit\(3\)\)"),
        ("raise ValueError('no\\nluck')", r"\(ValueError: no luck\); correct the module"),
        ("import no_such_module", r"cannot import 'faulty' \(No module named 'no_such_module'"),
        ("", "has no attribute 'model'; name an attribute of the module"),
        ("def __getattr__(name): raise SystemExit(0)", r"cannot be read \(sys.exit\(0\)\)"),
        ("def __getattr__(name): return 1 / 0", r"cannot be read \(ZeroDivisionError: division"),
    ],
)
def test_a_faulty_module_is_one_line_that_names_it(tmp_path, monkeypatch, source, message):
    (tmp_path / "faulty.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    with pytest.raises(InputError, match=message) as error:
        import_object("model", "faulty:model")
    sys.modules.pop("faulty", None)
    assert str(error.value).startswith("model 'faulty:model'")
    assert "\n" not in str(error.value)
