package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// lasting writes a length of time in the unit that suits it.
func lasting(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	default:
		return fmt.Sprintf("%.1f days", seconds/86400)
	}
}

// share writes a part of a number of jobs in percent; "": there are none.
func share(part, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

// jobs writes a number of jobs.
func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return inwords.Whole(n) + " jobs"
}

// Headline says in a sentence or two what the record says of all jobs.
func (v *Verdict) Headline() string {
	a := v.All
	if a.Jobs == 0 {
		return "No job began whose whole wait was watched, so there is nothing to judge yet."
	}
	text := fmt.Sprintf("Of %s, %s (%s) would have started earlier, %s (%s) at the same time and %s (%s) later",
		jobs(a.Jobs), inwords.Whole(a.Earlier), share(a.Earlier, a.Jobs), inwords.Whole(a.Same), share(a.Same, a.Jobs),
		inwords.Whole(a.Later), share(a.Later, a.Jobs))
	if a.Never > 0 {
		text += fmt.Sprintf(", and %s (%s) not at all", inwords.Whole(a.Never), share(a.Never, a.Jobs))
	}
	text += "."
	if a.Ours.Jobs > 0 {
		text += fmt.Sprintf(" The mean wait was %s, and would have been %s.", lasting(a.Theirs.Mean), lasting(a.Ours.Mean))
	}
	return text
}

// span says which time the record covers, how much of it was watched, and who decided.
func (v *Verdict) span(clock instant.Clock) string {
	watched := int64(0)
	for _, s := range v.Watched {
		watched += s.To - s.From
	}
	text := fmt.Sprintf("The record is from %s to %s, %s", clock.Text(v.From), clock.Text(v.To), lasting(float64(v.To-v.From)))
	if gaps := len(v.Watched) - 1; gaps > 0 {
		text += fmt.Sprintf(", of which %s were watched", lasting(float64(watched)))
	}
	var rules []string
	for i, r := range v.Rules {
		rule := fmt.Sprintf("policy %s, order %s", r.Policy, r.Order)
		if i > 0 {
			rule += " from " + clock.Text(r.From)
		}
		rules = append(rules, rule)
	}
	const few = 4
	if n := len(rules); n > few {
		rules = append(rules[:few], fmt.Sprintf("and %d more changes", n-few))
	}
	text += "; " + strings.Join(rules, ", ") + "."
	switch {
	case v.Since != 0 && v.Until != 0:
		text += fmt.Sprintf(" Jobs count that were submitted from %s to %s.", clock.Text(v.Since), clock.Text(v.Until))
	case v.Since != 0:
		text += fmt.Sprintf(" Jobs count that were submitted from %s on.", clock.Text(v.Since))
	case v.Until != 0:
		text += fmt.Sprintf(" Jobs count that were submitted before %s.", clock.Text(v.Until))
	}
	return text
}

// fact is a line of the summary: how many jobs, and more about them.
type fact struct{ What, Jobs, More string }

// facts are the lines of the summary.
func (v *Verdict) facts() []fact {
	a := v.All
	apart := func(w Waits) string {
		if w.Jobs == 0 {
			return ""
		}
		return fmt.Sprintf("by %s (median), %s (90 %%), %s (most)",
			lasting(float64(w.Median)), lasting(float64(w.P90)), lasting(float64(w.Most)))
	}
	lost := apart(a.Lost)
	if a.Unknown > 0 {
		lost = strings.TrimPrefix(lost+fmt.Sprintf("; of %s by how much is not known", inwords.Whole(a.Unknown)), "; ")
	}
	var why []string
	for _, r := range v.Reasons {
		why = append(why, fmt.Sprintf("%s: %s", inwords.Whole(r.Jobs), r.Why))
	}
	all := []fact{{"began to run", inwords.Whole(v.Started), ""}}
	if v.Unwatched > 0 {
		all = append(all, fact{"not judged", inwords.Whole(v.Unwatched), "a part of their wait was not watched"})
	}
	all = append(all,
		fact{"would have started earlier", inwords.Whole(a.Earlier), apart(a.Gained)},
		fact{"at the same time", inwords.Whole(a.Same), fmt.Sprintf("within %d s", Alike)},
		fact{"later", inwords.Whole(a.Later), lost})
	if a.Never > 0 {
		all = append(all, fact{"not at all", inwords.Whole(a.Never), strings.Join(why, "; ")})
	}
	for _, u := range []struct {
		what, until string
		jobs        Unstarted
	}{
		{"would have started, and still wait", "waiting", v.Waiting},
		{"would have started, and left unseen", "until they left", v.Gone},
	} {
		if u.jobs.Jobs > 0 {
			more := fmt.Sprintf("%s wide; since then %s for %s (median), %s (most)", inwords.Whole(u.jobs.Wide), u.until,
				lasting(float64(u.jobs.Waits.Median)), lasting(float64(u.jobs.Waits.Most)))
			all = append(all, fact{u.what, inwords.Whole(u.jobs.Jobs), more})
		}
	}
	return all
}

// promised says what became of promises, line by line.
func (v *Verdict) promised() []fact {
	p := v.Promises
	if p.Made == 0 {
		return nil
	}
	whole := inwords.Whole[int]
	all := []fact{
		{"kept by both", whole(p.Both), "started in time, as it would have here"},
		{"kept here alone", whole(p.Ours), "would have started in time here, and did not"},
		{"started before", whole(p.Theirs), "started in time, when it was planned for later here"},
		{"late on both sides", whole(p.Neither), "what the live negotiator left free by then was not enough; see below"},
	}
	if p.Elsewhere > 0 {
		all = append(all, fact{"elsewhere", whole(p.Elsewhere), "started by another negotiator, on slots that are not this one's"})
	}
	if p.Gone > 0 {
		all = append(all, fact{"gone", whole(p.Gone), "left the queue before"})
	}
	if p.Open > 0 {
		all = append(all, fact{"open", whole(p.Open), "still waiting, before their time"})
	}
	return all
}

// noPromises says why there are none.
func (v *Verdict) noPromises() string {
	for _, r := range v.Rules {
		if r.Guarantees {
			return "No job had to wait that was promised a start."
		}
	}
	return "The policy promises no starts."
}

// meaning says what was measured, in sentences.
func (v *Verdict) meaning() []string {
	return []string{
		"Here is this negotiator, which only observed: in each cycle it decided on the pool as the live negotiator had " +
			"made it. Its start of a job is the first cycle in which it would have started it. If the live negotiator was " +
			"first, it is the start that was planned here just then.",
		"So each job is judged alone, in a state that was real. It is no schedule of its own: had a job started earlier " +
			"here, it would have ended earlier, too, and others would have found other slots free. The record cannot show " +
			"that; differences of jobs do not add up to those of a month under this negotiator.",
		fmt.Sprintf("Starts here are decisions, real ones are when the job began to run, some seconds after its match. "+
			"Differences of up to %d s count as none.", Alike),
		"Waits are compared for the same jobs: those that began, that were watched from their submission on, and whose " +
			"start here is known. Jobs that still wait are counted apart, as a wait that has not ended is in no mean.",
		fmt.Sprintf("Wide are jobs with %d cpus or more, on all their slots, half of the largest slot.", v.Wide),
		"A promise is the latest start that a job was promised here when it entered the plan. Nobody was told it, and the " +
			"live negotiator knew nothing of it. Late on both sides says nothing of whether it would have been kept, as " +
			"what was reserved here may have been given to others.",
	}
}

// name returns the name of a user, or what stands for none.
func name(user string) string { return cmp.Or(user, "(no user)") }
