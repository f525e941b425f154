"""Reads the cases of a run and their baselines one by one, so that only one case is in memory."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eyechart.files.folders import evidence_folder
from eyechart.gate.baselines.baseline_files import BaselineIndex, case_key
from eyechart.gate.comparison.changed_data import describe_changed_samples
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.results.records import Record
from eyechart.results.shared_samples import share_samples, with_samples


class CaseReader:
    """Reads the evidence of the cases in a run's folder, by node id, and compares their samples with a baseline's."""

    def __init__(self, folder: Path, records: Mapping[str, Record]) -> None:
        self.folder, self.records = folder, records

    def by_node(self) -> Iterator[tuple[str, Evidence]]:
        """Yield the node id and evidence of each case, sorted by node id, so that workers do not change the order."""
        for nodeid, record in sorted(self.records.items()):
            if record.evidence:
                yield nodeid, self.read(nodeid)

    def by_baseline(self) -> Iterator[str]:
        """Yield the node ids of cases, so that the cases of one baseline file follow each other."""
        cases = [
            (record.benchmark, record.model.title, node) for node, record in self.records.items() if record.evidence
        ]
        return (nodeid for *_, nodeid in sorted(cases))

    def read(self, nodeid: str) -> Evidence:
        """Return the evidence of a case, without the keys and hashes of its samples."""
        file = self.records[nodeid].evidence
        assert file is not None
        return read_evidence(self.folder / file.path)

    def with_samples(self, evidence: Evidence) -> Evidence:
        """Return a case with the keys and hashes of its samples."""
        return with_samples(evidence, evidence_folder(self.folder))

    def join(self, before: Evidence, folder: Path, now: Evidence) -> tuple[Evidence, Evidence, str]:
        """Return a baseline in a folder and a case on their shared samples, and a remark on what is compared."""
        if before.fingerprint == now.fingerprint:
            return before, now, ""
        return share_samples(with_samples(before, folder), self.with_samples(now))

    def changed_samples(self, nodeid: str, baselines: BaselineIndex) -> list[str]:
        """Return which images and classes of a case are others than those of its baseline."""
        now = self.with_samples(self.read(nodeid))
        before, path = baselines.read(case_key(now))
        if before.fingerprint == now.fingerprint:
            return []
        return describe_changed_samples(with_samples(before, path.parent), now)

    def compared_keys(self, nodeid: str, baselines: BaselineIndex) -> Sequence[str]:
        """Return the keys of the samples of a case that are compared."""
        now = self.with_samples(self.read(nodeid))
        before, path = baselines.read(case_key(now))
        return self.join(before, path.parent, now)[1].keys
