"""Hypotheses fitted and certified one after the other: each refusal leads to the hypothesis that answers it."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from withinpx.certificate.certificate import Certificate
from withinpx.discovery.classes import Classes
from withinpx.discovery.inspection import Inspection
from withinpx.errors import BrokenTrainingError
from withinpx.tracking.attempt import ATTEMPTS, Attempt, Setup, attempt
from withinpx.tracking.merit import Change, merit
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan, working_scale
from withinpx.tracking.progress import Event, Report, TrainingEvents, silent
from withinpx.tracking.record import AttemptRecord, HypothesisRecord, Records, write_records
from withinpx.tracking.search import Trial, Tried, lost_objects, next_trial, refusals
from withinpx.training.fit import FitSettings


@dataclass(frozen=True)
class Fitted:
    """A trial that ended with a certificate."""

    tried: Tried
    setup: Setup
    attempt: Attempt
    merit: tuple[float, ...]

    @property
    def certificate(self) -> Certificate:
        return self.attempt.detector.certificate


class Fitting:
    """The search for the hypothesis that is certified best. With a folder, it can be resumed."""

    def __init__(
        self,
        inspection: Inspection,
        options: TrackOptions,
        settings: FitSettings,
        report: Report,
        out: Path | None,
        *,
        classes: Classes | None = None,
    ) -> None:
        """With ``classes`` the inspected clip is of views of one object each."""
        self._inspection, self._options, self._report, self._out = inspection, options, report, out
        self._classes, self._attempts = classes, attempts_folder(inspection, classes)
        self._settings = replace(settings, callbacks=(*settings.callbacks, TrainingEvents(report)))
        self._change = Change.of(inspection)
        self._tried: list[Tried] = []
        self._best: Fitted | None = None
        self._records = [HypothesisRecord.of(hypothesis) for hypothesis in inspection.hypotheses]

    @property
    def records(self) -> Records:
        """All hypotheses, with what became of those that were tried."""
        chosen = None if self._best is None else self._best.tried.trial.hypothesis
        return tuple(replace(record, chosen=index == chosen) for index, record in enumerate(self._records))

    def run(self, started: float) -> Fitted:
        """The best of all trials; another is begun only if it fits into the time budget, going by the last one."""
        trial = Trial(0, self._options.seed)
        while True:
            began = time.monotonic()
            error = self._try(trial)
            now, best = time.monotonic(), self._best
            best_tried = None if best is None else best.tried
            following = next_trial(self._tried, best_tried, self._inspection.hypotheses)
            if best is not None and following is None:
                return best
            if following is None:
                raise error or AssertionError("a trial that did not break has a certificate")
            expected = (now - began) * following.length / trial.length
            if best is not None and now + expected - started > self._options.budget:
                return best
            trial = following

    def _try(self, trial: Trial) -> BrokenTrainingError | None:
        """Fit a hypothesis and record the verdict; the error if the training broke."""
        began, error = time.monotonic(), None
        try:
            fitted = self._fit(trial)
        except BrokenTrainingError as broken:
            self._tried.append(Tried(trial, broken=True))
            error, verdict = broken, str(broken)
        else:
            self._tried.append(fitted.tried)
            self._best = fitted if self._best is None or fitted.merit > self._best.merit else self._best
            verdict = fitted.certificate.verdict
        record = AttemptRecord(trial.seed, trial.because, verdict, round(time.monotonic() - began, 1))
        self._records[trial.hypothesis] = self._records[trial.hypothesis].with_attempt(record)
        if self._out is not None:
            write_records(self._out, self.records)
        self._report(Event("training", message=f"{self._name(trial)}: {verdict}"))
        return error

    def _fit(self, trial: Trial) -> Fitted:
        if self._tried:
            self._report(Event("training", message=f"trying {self._name(trial)}, because {trial.because}"))
        options = replace(self._options, background="perspective") if trial.perspective else self._options
        if trial.appearance:
            options = replace(options, appearance=trial.appearance)
        hypothesis, settings = self._inspection.hypotheses[trial.hypothesis], self._settings
        setup = make_setup(self._inspection.under(hypothesis), options, self._report, self._classes)
        if self._out is not None:
            folder = self._out / self._attempts / trial.folders[-1]
            folder.mkdir(parents=True, exist_ok=True)
            settings = replace(settings, folder=folder)
        earlier = self._best.attempt.detector.model if trial.rounds > 1 and self._best is not None else None
        done = attempt(setup, trial.seed, settings, earlier=earlier, length=trial.length)
        tried = Tried(
            trial,
            refusals(done.detector.certificate, done.seen),
            lost_objects(setup, done),
            grows=options.background == "auto" and setup.plan.grows,
            may_change=options.appearance == "auto",
        )
        return Fitted(tried, setup, done, merit(done, self._change))

    def _name(self, trial: Trial) -> str:
        code = f", appearance code of {trial.appearance}" if trial.appearance else ""
        network = f"seed {trial.seed}{code}" + (f", round {trial.rounds}" if trial.rounds > 1 else "")
        if len(self._inspection.hypotheses) == 1:
            return network
        return f"hypothesis {trial.hypothesis} ({self._records[trial.hypothesis].why}), {network}"


def attempts_folder(inspection: Inspection, classes: Classes | None) -> Path:
    """Where logs and checkpoints of unfinished attempts are, in the folder of the run."""
    return Path(ATTEMPTS, f"classes-{len(inspection.objects)}" if classes is not None else "")


def make_setup(
    original: Inspection, options: TrackOptions, report: Report = silent, classes: Classes | None = None
) -> Setup:
    """The clip at the scale at which its objects can be rendered, and the network for it."""
    scale = working_scale(original, options.largest_object)
    inspection = original.scaled(scale) if scale < 1 else original
    plan = make_plan(inspection, options)
    count = len(inspection.objects)
    messages = [f"{count} moving object{'s' * (count != 1)}. {plan.why}"]
    if scale < 1:
        low, high = original.sizes
        messages.append(f"objects of {low:.0f} to {high:.0f} px are processed at {scale:g} of their size")
    for message in (*messages, *(f"warning: {warning}" for warning in plan.warnings)):
        report(Event("inspecting", message=message))
    return Setup(inspection, plan, original if scale < 1 else None, None if classes is None else classes.scaled(scale))
