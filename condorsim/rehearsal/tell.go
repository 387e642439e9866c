package rehearsal

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// Expectation is what is known of a job of a simulation at an instant.
type Expectation struct {
	Job       string `json:"job"`
	Command   string `json:"command"`
	Situation string `json:"situation"`
	// Start is the actual or the expected start; nil if there is none.
	Start *int64 `json:"start"`
	// Guarantee is the latest start that was promised; nil if none was.
	Guarantee *int64 `json:"guarantee"`
	Reason    string `json:"reason"`
	// P10, P50 and P90: of ten futures the job starts by then in one, in five, in nine; nil if they
	// are not known. P50 is the expected start.
	P10 *int64 `json:"p10,omitempty"`
	P50 *int64 `json:"p50,omitempty"`
	P90 *int64 `json:"p90,omitempty"`
	// Requested and Predicted are run times; nil if the job is expected to run for as long as it
	// requests.
	Requested *int64 `json:"requested_seconds,omitempty"`
	Predicted *int64 `json:"predicted_seconds,omitempty"`
	// Basis is what the expected run time of a waiting job rests on; nil: on what it requests.
	Basis *estimate.Basis `json:"run_time_basis,omitempty"`

	owner string
	why   string // the reason without the start
	where string // on which slots it starts
}

// String explains the job.
func (e Expectation) String() string {
	text := fmt.Sprintf("%s %s: %s\n", e.Job, e.Command, e.Reason)
	if e.Predicted != nil {
		text += fmt.Sprintf("it requests %s and is expected to run for %s", inwords.Duration(float64(*e.Requested), 0),
			inwords.Duration(float64(*e.Predicted), 0))
		if e.Basis != nil {
			text += ", " + e.Basis.Describe(e.owner)
		}
		text += "\n"
	}
	return text
}

// Table lists the first jobs, up to the limit; 0: all.
func (p *Rehearsal) Table(all []Expectation, limit int) string {
	clock := p.Clock()
	shown := cli.First(all, limit)
	t := cli.Table("waiting", "command", "expected start", "80 % range", "guaranteed by", "slots", "reason")
	at := func(n *int64) string {
		if n == nil {
			return ""
		}
		return clock.Text(*n)
	}
	for _, e := range shown {
		in := ""
		if e.P10 != nil {
			in = p.span(ahead.Range{Low: backfill.Time(*e.P10), High: backfill.Time(*cmp.Or(e.P90, secondsOf(backfill.Forever)))})
		}
		t.AppendRow(table.Row{e.Job, e.Command, at(e.Start), in, at(e.Guarantee), e.where, e.why})
	}
	return t.Render() + "\n" + cli.More(len(all)-len(shown))
}

// why is the reason for a table that has columns for start and slots.
func (p *Rehearsal) why(r backfill.Reason) string {
	switch {
	case r.Why == backfill.Reserved:
		return "reserved for " + p.text(r.At) + atLimit(r)
	case r.Why == backfill.Waits && r.Limit != nil:
		return strings.TrimPrefix(atLimit(r), "; ")
	case r.Behind != nil:
		return "behind job " + p.name(r.Behind)
	case r.Text != "":
		return r.Text
	default:
		return r.Why.String()
	}
}

// atLimit says for which limit a job waits, behind what comes before it; "" if for none.
func atLimit(r backfill.Reason) string {
	if r.Limit == nil {
		return ""
	}
	return "; waits for " + r.Limit.String()
}

// describe puts into words why a job runs or does not, and when it is expected to start.
func (p *Rehearsal) describe(s *snapshot, id backfill.JobID, r backfill.Reason) string {
	text := s.state.DescribeIn(r, p.name, p.text)
	begins, known := s.told[id]
	expected := "expected start " + p.text(begins.At)
	in, ranged := s.ranges[id]
	if ranged = ranged && in.Mid < backfill.Forever; ranged {
		expected = fmt.Sprintf("expected start %s (80 %%), most likely %s,", p.span(in), p.text(in.Mid))
	}
	expected += " on " + s.state.DescribePlacement(begins.Placement)
	switch {
	case !known, r.Why == backfill.Reserved && begins.At == r.At && !ranged:
		return text
	case r.Why == backfill.Reserved && r.Promised:
		return fmt.Sprintf("reserved for %s, %s, guaranteed by %s", p.text(r.At), expected, p.text(r.Latest)) + atLimit(r)
	case r.Why == backfill.Reserved:
		return fmt.Sprintf("reserved for %s, %s", p.text(r.At), expected) + atLimit(r)
	case r.Why == backfill.Unpromised:
		return "waits, " + expected + "; " + text
	default:
		return text + ", " + expected
	}
}

// text writes an instant.
func (p *Rehearsal) text(t backfill.Time) string { return p.Clock().Text(int64(t)) }

// span is a range as text.
func (p *Rehearsal) span(r ahead.Range) string {
	if r.High >= backfill.Forever {
		return p.text(r.Low) + " or later"
	}
	return p.Clock().Span(int64(r.Low), int64(r.High))
}
