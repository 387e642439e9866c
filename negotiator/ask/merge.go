package ask

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// Told is what is told of a job: by the negotiator that starts it first, if there are several.
type Told struct {
	daemon.JobForecast
	// Negotiator is who tells it; "": there is no other.
	Negotiator string `json:"negotiator,omitempty"`
	// Elsewhere is what the others say of the job while it waits, who starts it earlier first.
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
}

// Elsewhere is what a further negotiator says of a job.
type Elsewhere struct {
	Negotiator string `json:"negotiator"`
	Situation  string `json:"situation"`
	Start      *int64 `json:"start"`
	Guarantee  *int64 `json:"guarantee"`
	Reason     string `json:"reason"`
}

// started tells whether a job is at its slots, or on its way.
func started(j daemon.JobForecast) bool { return j.Situation == "runs" || j.Situation == "matched" }

// sooner compares what two negotiators say of jobs, by who starts first: one that has started its job
// comes before all, and one that knows a start before those that know none.
func sooner(a, b daemon.JobForecast) int {
	rank := func(j daemon.JobForecast) int {
		switch {
		case started(j):
			return 0
		case j.Start != nil:
			return 1
		case j.Situation != "held":
			return 2
		default:
			return 3
		}
	}
	if byRank := cmp.Compare(rank(a), rank(b)); byRank != 0 || a.Start == nil || b.Start == nil || started(a) {
		return byRank
	}
	return cmp.Compare(*a.Start, *b.Start)
}

// mergeTold merges what several negotiators say of waiting jobs into one line for each job. Jobs come
// by their expected starts, and those without one after them, each in the order of its queue.
func mergeTold(told []answered[Told]) []Told {
	if len(told) == 1 && told[0].name == "" {
		return told[0].items
	}
	var all []Told
	position := map[job]int{}
	for _, group := range byJob(told, func(t Told) daemon.JobForecast { return t.JobForecast }) {
		one := Told{JobForecast: group[0].item.JobForecast, Negotiator: group[0].name}
		for _, other := range group[1:] {
			one.Elsewhere = appendElsewhere(one, other.name, other.item.JobForecast)
		}
		position[jobOf(one.JobForecast)] = group[0].position
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Told) int {
		return cmp.Or(sooner(a.JobForecast, b.JobForecast),
			cmp.Compare(position[jobOf(a.JobForecast)], position[jobOf(b.JobForecast)]))
	})
	return all
}

// appendElsewhere adds what a further negotiator says of a job. Of one that has started it adds
// nothing: the other has not seen that yet.
func appendElsewhere(t Told, name string, j daemon.JobForecast) []Elsewhere {
	if started(t.JobForecast) {
		return nil
	}
	return append(t.Elsewhere, Elsewhere{name, j.Situation, j.Start, j.Guarantee, onItsSlots(j.Reason)})
}

// onItsSlots has a reason of one of several negotiators speak of its slots, which are all that it knows.
func onItsSlots(reason string) string {
	if rest, cannot := strings.CutPrefix(reason, "cannot run in this pool: "); cannot {
		return "cannot run on its slots: " + rest
	}
	return reason
}

// job names a job. Of one that it knows nothing of yet, a negotiator does not tell the schedd.
type job struct{ schedd, name string }

func jobOf(j daemon.JobForecast) job {
	name, schedd, _ := strings.Cut(j.Job, "@")
	return job{cmp.Or(j.Schedd, schedd), name}
}

// said is what one negotiator says of a job, at this position of its answer.
type said[T any] struct {
	name     string
	position int
	item     T
}

// byJob returns what is said of each job, by who starts it first. Jobs come in the order in which they
// are named first.
func byJob[T any](told []answered[T], forecast func(T) daemon.JobForecast) [][]said[T] {
	var all [][]said[T]
	var strange []said[T]
	at := map[job]int{}
	for _, answer := range told {
		for i, item := range answer.items {
			one := said[T]{answer.name, i, item}
			name := jobOf(forecast(item))
			n, known := at[name]
			if name.schedd == "" {
				strange = append(strange, one)
				continue
			}
			if !known {
				n = len(all)
				at[name], all = n, append(all, nil)
			}
			all[n] = append(all[n], one)
		}
	}
	for _, one := range strange {
		name := jobOf(forecast(one.item)).name
		n := slices.IndexFunc(all, func(group []said[T]) bool { return jobOf(forecast(group[0].item)).name == name })
		if n < 0 {
			n, all = len(all), append(all, nil)
		}
		all[n] = append(all[n], one)
	}
	for _, group := range all {
		slices.SortStableFunc(group, func(a, b said[T]) int { return sooner(forecast(a.item), forecast(b.item)) })
	}
	return all
}

// mergeExplained merges what several negotiators know of jobs: of each job what is told by who starts
// it first, and of slots the sums over all, as no slot is of two negotiators.
func mergeExplained(told []answered[Explained]) []Explained {
	if len(told) == 1 && told[0].name == "" {
		return told[0].items
	}
	var all []Explained
	for _, group := range byJob(told, func(e Explained) daemon.JobForecast { return e.JobForecast }) {
		one := group[0].item
		one.Negotiator = group[0].name
		for _, other := range group[1:] {
			one.Elsewhere = appendElsewhere(one.Told, other.name, other.item.JobForecast)
			one.addSlots(other.item)
		}
		all = append(all, one)
	}
	return all
}

// addSlots adds the slots of another negotiator.
func (e *Explained) addSlots(o Explained) {
	e.SlotsInPool += o.SlotsInPool
	e.SlotsMatching += o.SlotsMatching
	e.SlotsRefusing += o.SlotsRefusing
	e.SlotsPaused = slices.Concat(e.SlotsPaused, o.SlotsPaused)
	e.SlotsDrained = slices.Concat(e.SlotsDrained, o.SlotsDrained)
	e.paused += o.paused
	e.SlotsClosed = addUp(e.SlotsClosed, o.SlotsClosed, func(c *closed) (string, *int64) { return c.Why, &c.Slots })
	e.Clauses = addUp(e.Clauses, o.Clauses, func(c *clause) (string, *int64) { return c.Text, &c.Unmet })
	e.Refusals = addUp(e.Refusals, o.Refusals, func(r *refusal) (string, *int64) { return r.Text, &r.Slots })
}

// addUp adds the counts of more to those of all that are of the same.
func addUp[T any](all, more []T, count func(*T) (string, *int64)) []T {
	all = slices.Clone(all)
next:
	for _, m := range more {
		name, n := count(&m)
		for i := range all {
			if same, sum := count(&all[i]); same == name {
				*sum += *n
				continue next
			}
		}
		all = append(all, m)
	}
	return all
}

// tell says what a further negotiator would do with a job.
func (x Elsewhere) tell(zone *time.Location) string {
	if x.Start != nil {
		return bare(x.Negotiator) + " would start it at " + moment(x.Start, zone)
	}
	return bare(x.Negotiator) + ": " + x.Reason
}

// bare is a negotiator's name without its host.
func bare(name string) string {
	short, _, _ := strings.Cut(name, "@")
	return cmp.Or(short, name)
}
