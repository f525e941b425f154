"""Reads the cases of a run and their baselines one by one, so that only one case is in memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from eyechart.files.folders import evidence_folder
from eyechart.gate.baselines.baseline_files import BaselineIndex, case_key
from eyechart.gate.session.compare_cases import CasePair, Key
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.results.records import Record
from eyechart.results.shared_samples import with_samples


class CaseReader:
    """Reads the evidence of the cases in a run's folder, by node id, and pairs it with that of baselines."""

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

    def pairs(self, baselines: BaselineIndex) -> Iterator[tuple[Key, CasePair]]:
        """Yield each case with its baseline, if it has one, by case, protocol and node id."""
        for nodeid in self.by_baseline():
            pair = self.pair(nodeid, baselines)
            yield (*case_key(pair.after), nodeid), pair

    def pair(self, nodeid: str, baselines: BaselineIndex) -> CasePair:
        """Return a case with its baseline, if it has one."""
        now, folder = self.read(nodeid), evidence_folder(self.folder)
        if case_key(now) not in baselines.heads:
            return CasePair(None, now, folder)
        before, path = baselines.read(case_key(now))
        return CasePair(before, now, folder, path.parent)
