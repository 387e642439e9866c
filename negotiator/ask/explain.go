package ask

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Explained is all that the negotiator of a real pool tells about a job.
type Explained struct {
	Told
	SlotsInPool   int64           `json:"slots_in_pool"`
	SlotsMatching int64           `json:"slots_matching"`
	SlotsRefusing int64           `json:"slots_refusing"`
	SlotsClosed   []closed        `json:"slots_closed,omitempty"`
	SlotsPaused   []daemon.Paused `json:"slots_paused,omitempty"`
	// SlotsDrained says which slots are drained before the job would end there, the first of them.
	SlotsDrained []string  `json:"slots_drained,omitempty"`
	Clauses      []clause  `json:"clauses"`
	Refusals     []refusal `json:"refusals,omitempty"`
	// Policy is who is in charge; nil if the pool's policy is not chosen.
	Policy *daemon.PolicyChoice `json:"policy,omitempty"`
	// FallbackInUse is who decides in the place of a policy that was given up; "": it was not.
	FallbackInUse string `json:"fallback_in_use,omitempty"`
	// Basis is what the expected run time of a waiting job rests on; nil: on what it requests.
	Basis  *estimate.Basis `json:"run_time_basis,omitempty"`
	paused int64           // how many there are; SlotsPaused are the first of them
}

// closed counts slots that would match the job if they were not closed for a while, and says why
// they are.
type closed struct {
	Why   string `json:"why"`
	Slots int64  `json:"slots"`
}

// clause is a part of a job's Requirements. Unmet is the number of slots on which it is not true.
type clause struct {
	Text  string `json:"text"`
	Unmet int64  `json:"unmet"`
}

// refusal is a clause of slots' own Requirements, such as one of START, by which so many refuse a job.
type refusal struct {
	Text  string `json:"text"`
	Slots int64  `json:"slots"`
}

// ReadExplained reads what the negotiator of a real pool tells of jobs.
func ReadExplained(ads []*classad.ClassAd) []Explained {
	all := make([]Explained, len(ads))
	for i, ad := range ads {
		all[i] = readExplained(ad)
	}
	return all
}

func readExplained(ad *classad.ClassAd) Explained {
	e := Explained{Told: Told{JobForecast: daemon.ReadJobForecast(ad, time.Local)}, Clauses: []clause{}}
	e.SlotsInPool, _ = ad.Int("SlotsInPool")
	e.SlotsMatching, _ = ad.Int("SlotsMatching")
	e.SlotsRefusing, _ = ad.Int("SlotsRefusing")
	for i := 1; ; i++ {
		why, ok := ad.Text(fmt.Sprintf("ClosedWhy%d", i))
		if !ok {
			break
		}
		slots, _ := ad.Int(fmt.Sprintf("ClosedSlots%d", i))
		e.SlotsClosed = append(e.SlotsClosed, closed{why, slots})
	}
	e.SlotsPaused = daemon.ReadPaused(ad)
	e.SlotsDrained = daemon.ReadDrained(ad)
	e.paused, _ = ad.Int("SlotsPaused")
	e.Basis = daemon.ReadBasis(ad)
	e.Policy, e.FallbackInUse = daemon.ReadPolicyChoice(ad), daemon.ReadFallbackInUse(ad)
	for i := 1; ; i++ {
		text, ok := ad.Text(fmt.Sprintf("Refusal%d", i))
		if !ok {
			break
		}
		slots, _ := ad.Int(fmt.Sprintf("RefusalSlots%d", i))
		e.Refusals = append(e.Refusals, refusal{text, slots})
	}
	for i := 1; ; i++ {
		text, ok := ad.Text(fmt.Sprintf("Clause%d", i))
		if !ok {
			return e
		}
		met, _ := ad.Int(fmt.Sprintf("ClauseMet%d", i))
		e.Clauses = append(e.Clauses, clause{text, e.SlotsInPool - met})
	}
}

// Explanation explains jobs of a real pool, for those who asked about this job. For a cluster of
// several jobs it lists the start times.
func Explanation(job string, all []Explained) string {
	if cluster, _, _ := strings.Cut(job, "@"); len(all) > 1 && !strings.Contains(cluster, ".") {
		plans := make([]Told, len(all))
		for i, e := range all {
			plans[i] = e.Told
		}
		return StartTimes(plans, 0) + fmt.Sprintf(" all that is known of one: negotiator explain %s\n",
			cli.Line(all[0].Job))
	}
	var text strings.Builder
	for i, e := range all {
		if i > 0 {
			text.WriteString("\n")
		}
		e.write(&text, time.Local)
	}
	return text.String()
}

// write prints what is known of the job. Times are in the given zone.
func (e Explained) write(out *strings.Builder, zone *time.Location) {
	name := e.Job
	if e.Schedd != "" && !strings.HasSuffix(name, "@"+e.Schedd) {
		name += " at " + e.Schedd
	}
	if e.Owner != "" {
		name += ", of " + e.Owner
	}
	fmt.Fprintf(out, "Job %s: %s\n", cli.Line(name), cli.Line(e.Reason))
	on := "on"
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-16s %s\n", label, cli.Line(text))
		}
	}
	line("told by", bare(e.Negotiator))
	switch e.Situation {
	case "runs":
		line("started", moment(e.Start, zone))
	case "matched":
		line("matched", moment(e.Start, zone))
	default:
		on = "now planned on" // a promise is a time, not a place
		line("expected start", moment(e.Start, zone))
		line("80 % range", e.Span(zone))
		line("foreseen at", moment(e.AsOf, zone))
	}
	line("guaranteed by", moment(e.Guarantee, zone))
	if e.Reserved != nil {
		line("reserved for", moment(e.Reserved, zone))
	}
	line(on, e.Slots)
	line("behind", e.Behind)
	for _, x := range e.Elsewhere {
		line("elsewhere", x.tell(zone))
	}
	if e.FallbackInUse != "" {
		line("policy", "given up, as it failed too often; "+e.FallbackInUse+" decides")
	}
	if e.Policy != nil {
		line("policy", e.Policy.Tell(zone))
	}
	if e.Predicted != nil {
		line("run time", e.runTime())
	}
	if e.SlotsInPool == 0 {
		return
	}
	slots := []string{fmt.Sprintf("%s in the pool, %s match", inwords.Whole(e.SlotsInPool), inwords.Whole(e.SlotsMatching))}
	for _, c := range e.SlotsClosed {
		slots = append(slots, fmt.Sprintf("%d %s", c.Slots, c.Why))
	}
	slots = append(slots, fmt.Sprintf("%d refuse it by their own Requirements", e.SlotsRefusing))
	line("slots", strings.Join(slots, ", "))
	line("left out", e.leftOut(zone))
	line("drained", strings.Join(e.SlotsDrained, "; "))
	e.writeClauses(out)
}

// writeClauses lists by which clauses of Requirements slots and job do not suit each other.
func (e Explained) writeClauses(out *strings.Builder) {
	unmet, refusing := cli.Table("slots without", "of its Requirements"), cli.Table("slots refuse", "by their own")
	toTheRight(unmet, "slots without")
	toTheRight(refusing, "slots refuse")
	for _, clause := range e.Clauses {
		if clause.Unmet > 0 {
			unmet.AppendRow(table.Row{inwords.Whole(clause.Unmet), cli.Line(clause.Text)})
		}
	}
	for _, r := range e.Refusals {
		refusing.AppendRow(table.Row{inwords.Whole(r.Slots), cli.Line(r.Text)})
	}
	indent(out, unmet)
	indent(out, refusing)
}

// runTime says for how long the job is expected to run, and by what.
func (e Explained) runTime() string {
	text := inwords.Duration(float64(*e.Requested), 0) + " requested, " +
		inwords.Duration(float64(*e.Predicted), 0) + " expected"
	if e.Basis != nil {
		text += ", " + e.Basis.Describe(e.Owner)
	}
	return text
}

// indent prints a table that has rows.
func indent(out *strings.Builder, t table.Writer) {
	if t.Length() == 0 {
		return
	}
	for row := range strings.SplitSeq(t.Render(), "\n") {
		out.WriteString("  " + row + "\n")
	}
}

// leftOut lists the slots on which starts failed; "": there are none.
func (e Explained) leftOut(zone *time.Location) string {
	var texts []string
	for _, p := range e.SlotsPaused {
		texts = append(texts, fmt.Sprintf("%s until %s, failed starts: %d", p.Slot,
			moment(&p.Until, zone), p.FailedStarts))
	}
	if more := e.paused - int64(len(texts)); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// moment writes a time in a zone; nil becomes "".
func moment(unix *int64, zone *time.Location) string {
	if unix == nil {
		return ""
	}
	return instant.OfPool(zone).Text(*unix)
}
