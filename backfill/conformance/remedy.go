package conformance

import "strings"

// remedies are hints, each for refusals whose text contains certain words.
var remedies = []struct{ refused, do string }{
	{"panicked", "mend the panic: its stack is in the log"},
	{
		"events of the round have not been taken",
		"take all events before the first start: scan.Begin(c), or c.Next() until it says false",
	},
	{"and was not started", "at the end of the round, start the jobs that are planned for now (Cycle.Due)"},
	{
		"left without a reservation",
		"give each job a reservation (Cycle.Earliest, Cycle.Reserve) at its arrival, and again when an event " +
			"lists it as Displaced; leave out only those beyond the depth of the plan (Fast.Beyond, " +
			"View.PlanHasRoom)",
	},
	{"given no guarantee", "promise each job a start (Cycle.Guarantee) in the round in which it enters the plan"},
	{
		"it may not start before",
		"start only jobs of Cycle.Queue, which leaves out those whose earliest start (Job.Release) is still to come",
	},
	{", its earliest", "plan jobs where Cycle.Earliest says, which heeds their earliest start (Job.Release)"},
	{
		"does not know what is in the pool",
		"rebuild it with this host's plugins/sdk; in another language, follow what has come into the protocol " +
			"and name it in the description's features",
	},
	{"you started it earlier in this round", "start each job once: Cycle.FitsNow says no for one that was started"},
	{"policy in charge gives none", "declare Guarantees in the policy's Spec, or promise nothing"},
	{"it runs since", "act only on jobs of Cycle.Queue and Cycle.Waiting: what runs goes on, wherever it is"},
	{"it is held (", "act only on jobs of Cycle.Queue and Cycle.Waiting: who is held is in neither"},
	{"there is no such job", "act only on jobs of Cycle.Queue and Cycle.Waiting, in the round in which they are read"},
	{"a promise stands", "promise each job once; State().Guaranteed says whether it was promised"},
	{"guarantee for job", "promise a start that is still to come, as Cycle.Earliest says"},
	{"its owner is given no reason", "say why in Cycle.Hold: the job's owner reads it"},
	{"hold job", "hold only jobs that were promised nothing (State().Guaranteed)"},
	{"other times already", "ask for one time to wake, the next one: rounds for planned starts and ends come anyway"},
	{"wake at", "ask only for times later than Cycle.Now"},
	{"is not between now", "reserve for times from Cycle.Now on, as Cycle.Earliest says"},
	{"at the latest", "move a reservation only to starts at or before what was promised (State().Guaranteed)"},
	{"is named twice", "name each slot once in a placement, with the count of all its chunks there"},
	{"chunks are placed", "place all chunks of a job and no more, as Cycle.FitsNow and Cycle.Earliest do"},
	{
		"is not there",
		"place jobs only on slots that are up (State().SlotUp), as Cycle.FitsNow and Cycle.Earliest do",
	},
	{
		"no candidate",
		"place a job only on its candidates (State().Request), as Cycle.FitsNow and Cycle.Earliest do",
	},
	{
		"not free",
		"place jobs where Cycle.FitsNow or Cycle.Earliest says, and ask again after each start and reservation: each " +
			"takes room",
	},
}

// Remedy returns the hint for the author of a policy that broke the rule in this way.
func (f Finding) Remedy() string {
	if f.Rule != Accepted {
		return f.Rule.Remedy()
	}
	for _, r := range remedies {
		if strings.Contains(f.Text, r.refused) {
			return r.do
		}
	}
	return f.Rule.Remedy()
}

// Remedy returns the hint for the author of a policy that breaks the rule in whatever way.
func (r Rule) Remedy() string {
	switch r {
	case Drains:
		return "if the policy does not mean to leave jobs waiting for good, look at why it never starts this one"
	case HeadStarts:
		return "if the policy does not wait on purpose, start the first job of the queue when it fits"
	case Untouched:
		return "change no job, slot or vector: they belong to the state; copy what the policy wants to change"
	case Deterministic:
		return "let nothing but the cycle decide: no clock, no random numbers, no order of a map, no race between " +
			"goroutines"
	case Memoryless:
		return "keep nothing between rounds that a decision rests on: all it may rest on is in the cycle"
	case Accepted:
		return "place jobs of Cycle.Queue where Cycle.FitsNow or Cycle.Earliest says, if they say so, and after all " +
			"events were taken"
	case Guaranteed:
		return "in each round, give a reservation and a promise to each waiting job that has none and has a start " +
			"again (Cycle.Waiting, Cycle.Earliest; with a depth Fast.Entering), and move reservations only to before " +
			"their guarantees"
	case Started:
		return "start jobs whose planned start has come (Cycle.Due)"
	case Promised:
		return "the policy does not keep what it promises beyond the rules"
	default:
		return "this is not the policy's fault: please report it with the seed"
	}
}
