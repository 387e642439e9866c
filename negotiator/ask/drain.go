package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// DrainWords are a request for drains as a user writes it.
type DrainWords struct {
	Slots     []string // slots or machines
	By, Until string
	Cancel    bool
}

// Request puts the words into a request, with instants as the clock reads them.
func (w DrainWords) Request(now backfill.Time, clock instant.Clock) (r drains.Request, err error) {
	r = drains.Request{Slots: w.Slots, Cancel: w.Cancel}
	if w.Cancel {
		if w.By != "" || w.Until != "" {
			return r, errors.New("--cancel ends a drain at once: leave --by and --until out")
		}
		return r, r.Validate()
	}
	if w.By == "" {
		return r, errors.New("say with --by when the slot is to be empty, such as --by 18:00 or --by 4h, or --cancel")
	}
	if r.By, err = readDeadline(w.By, now, clock); err != nil {
		return r, fmt.Errorf("--by %s: %w", w.By, err)
	}
	if w.Until != "" {
		if r.Until, err = readDeadline(w.Until, now, clock); err != nil {
			return r, fmt.Errorf("--until %s: %w", w.Until, err)
		}
		if clock.Dated && isClock(w.Until) && r.Until <= r.By { // until 07:00 of the day after
			if r.Until, err = clock.Next(w.Until, r.By+1); err != nil {
				return r, fmt.Errorf("--until %s: %w", w.Until, err)
			}
		}
	}
	if r.By < int64(now) {
		return r, fmt.Errorf("--by %s is past, %s: say --by now, or a time to come", w.By, clock.Text(r.By))
	}
	if w.Until != "" && r.Until <= r.By {
		return r, fmt.Errorf("--until %s, %s: must be later than --by, %s", w.Until, clock.Text(r.Until), clock.Text(r.By))
	}
	return r, r.Validate()
}

// readDeadline is readInstant, and also reads now, and 4h for what is in 4 hours.
func readDeadline(text string, now backfill.Time, clock instant.Clock) (int64, error) {
	if text == "now" {
		return int64(now), nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		if _, wrong := readSpan(text); wrong == nil {
			text = "+" + text
		}
	}
	return readInstant(text, now, clock)
}

// isClock tells whether a text is a time of some day, such as 18:00.
func isClock(text string) bool {
	_, err := time.Parse("15:04", text)
	return err == nil
}

// Drain asks for drains, or their end, and returns what becomes of the slots. If there are several
// negotiators, each slot is drained by whose it is.
func (p Pool) Drain(ctx context.Context, r drains.Request) ([]drains.Listed, error) {
	all, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 {
		return drainAt(ctx, all[0], r)
	}
	var done []drains.Listed
	var failed []error
	for _, slot := range r.Slots {
		one := r
		one.Slots = []string{slot}
		var strange error
		known := false
		for _, n := range all {
			listed, wrong := drainAt(ctx, n, one)
			switch {
			case wrong == nil:
				done, known = append(done, listed...), true
			case cli.Code(wrong) == cli.BadInput || !n.apart: // it may be another's, or of one that is no more
				strange = wrong
			default:
				failed = append(failed, fmt.Errorf("%s, of %s: %w", slot, n.name, wrong))
			}
		}
		if !known && strange != nil {
			failed = append(failed, strange)
		}
	}
	return done, errors.Join(failed...)
}

// drainAt asks one negotiator for drains.
func drainAt(ctx context.Context, n asked, r drains.Request) ([]drains.Listed, error) {
	if n.lost != nil {
		return nil, n.lost
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	listed, err := readDrains(n.Drain(ctx, string(text)))
	if err != nil {
		return nil, silent(err)
	}
	return listed, nil
}

// Drains asks which slots are drained. A [*PartialError] comes with what the other negotiators
// answered.
func (p Pool) Drains(ctx context.Context) (all []drains.Listed, _ error) {
	told, partial, err := askAll(ctx, p, func(ctx context.Context, n client.Negotiator) ([]drains.Listed, error) {
		return readDrains(n.Drains(ctx))
	})
	if err != nil {
		return nil, err
	}
	for _, t := range told {
		all = append(all, t.items...)
	}
	return all, partial
}

// readDrains reads a reply about drains.
func readDrains(reply client.Reply, err error) (all []drains.Listed, _ error) {
	switch {
	case err != nil:
		return nil, err
	case reply.Bad != "":
		return nil, &failedError{cli.Bad(errors.New(reply.Bad))}
	case reply.Failed != "":
		return nil, &failedError{errors.New(reply.Failed)}
	}
	if err = json.Unmarshal([]byte(reply.Answer), &all); err != nil {
		return nil, fmt.Errorf("the negotiator's answer cannot be read: %s", inwords.JSON(err))
	}
	return all, nil
}

// DrainsTable lists drains, with instants as the clock writes them.
func DrainsTable(all []drains.Listed, clock instant.Clock) string {
	if len(all) == 0 {
		return "no slot is drained\n"
	}
	at := func(seconds int64) string {
		if seconds == 0 {
			return ""
		}
		return clock.Text(seconds)
	}
	until := slices.ContainsFunc(all, func(l drains.Listed) bool { return l.Until != 0 })
	columns := []any{"slot", "by", "asked by", "jobs", "empty at", "jobs that do not end in time"}
	if until {
		columns = slices.Insert(columns, 2, any("until"))
	}
	t := cli.Table(columns...)
	toTheRight(t, "jobs")
	for _, l := range all {
		empty := at(l.Empty)
		switch {
		case l.Gone != 0:
			empty = "not in the pool"
		case l.Jobs == 0:
			empty = "is empty"
		}
		row := table.Row{cli.Line(l.Slot), at(l.By), cli.Line(l.AskedBy), inwords.Whole(l.Jobs), empty, cli.Line(lateJobs(l))}
		if until {
			row = slices.Insert(row, 2, any(at(l.Until)))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

// lateJobs lists the first jobs that do not end in time.
func lateJobs(l drains.Listed) string {
	const most = 5
	text := strings.Join(l.Late[:min(len(l.Late), most)], " ")
	if more := len(l.Late) - most; more > 0 {
		text += fmt.Sprintf(" and %s more", inwords.Whole(more))
	}
	return text
}

// Cancelled says of which slots drains were cancelled.
func Cancelled(names []string) string {
	return "not drained any more: " + cli.Line(strings.Join(names, " ")) + "\n"
}
