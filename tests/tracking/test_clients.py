"""The real clients of trackers, offline: what they store is what the records have."""

import pytest

pytestmark = pytest.mark.deep
