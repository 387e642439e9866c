package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// whatIfCommand is negotiator what-if.
type whatIfCommand struct {
	jobFlags
	Policy    string            `group:"Another policy" short:"p" placeholder:"NAME" help:"${what_if_policy}"`
	PolicyOpt map[string]string `group:"Another policy" aliases:"options" placeholder:"K=V" mapsep:"none" help:"${run_policy_opt}"`
	Order     string            `group:"Another policy" placeholder:"NAME" help:"Another order of the queue, by name."`
	Estimates string            `group:"Another policy" placeholder:"NAME" help:"${what_if_estimates}"`
	Without   []string          `group:"Other slots" placeholder:"SLOT" help:"${what_if_without}"`
	With      []string          `group:"Other slots" sep:"none" placeholder:"SPEC" help:"${what_if_with}"`
	Drain     []string          `group:"Other slots" placeholder:"SLOT" help:"${what_if_drain}"`
	From      string            `group:"Other slots" placeholder:"T" help:"${what_if_from}"`
	For       string            `group:"Other slots" placeholder:"TIME" help:"How long to drain, such as 4h."`

	JSON  bool    `group:"Where to ask" name:"json" help:"Print the answer as one JSON object."`
	Pool  *string `group:"Where to ask" placeholder:"FILE" help:"${run_pool}"`
	Token *string `group:"Where to ask" placeholder:"FILE" help:"${real_token}"`

	Config     string  `group:"Or look into a simulation" placeholder:"FILE" help:"Configuration file (YAML)."`
	At         *int64  `group:"Or look into a simulation" placeholder:"T" help:"${ask_at}"`
	Workload   *string `group:"Or look into a simulation" placeholder:"FILE" help:"${run_workload}"`
	Under      *string `group:"Or look into a simulation" placeholder:"NAME" help:"${what_if_under}"`
	UnderOrder *string `group:"Or look into a simulation" placeholder:"NAME" help:"The order in charge."`
}

// Help is shown below the usage.
func (*whatIfCommand) Help() string {
	return `Nothing is touched: each answer compares plans made on a copy of the schedule. In both
every job runs for as long as it is taken to, and nobody else arrives; a range also counts those
who may arrive.
Without --at the negotiator at work in the pool of this machine's HTCondor is asked.

Examples:
  negotiator what-if --cpus 16 --memory 64GiB --time 2h
  negotiator what-if --cpus 16 --chunks 4 --time 2h --owner alice
  negotiator what-if --job my.sub --time 30m
  negotiator what-if --policy pc --order sjf
  negotiator what-if --without node7
  negotiator what-if --with 'cpus=64,memory=256GiB,count=4'
  negotiator what-if --drain node7 --from 18:00 --for 4h
  negotiator what-if --at 60 --under easy --policy conservative --json

Exit codes: 0 it was answered, 1 nobody could be asked, 2 the question is bad.`
}

// Run asks the pool, or a simulation, and prints the answer.
func (c *whatIfCommand) Run(ctx context.Context) error {
	flags := &poolFlags{Config: c.Config, Pool: c.Pool, Workload: c.Workload, Policy: c.Under, Order: c.UnderOrder}
	flags.Token = c.Token
	onReal, err := flags.asksPool(c.At)
	if err == nil && onReal {
		err = c.checkPool()
	}
	if err != nil {
		return cli.Bad(err)
	}
	now, zone := backfill.Time(time.Now().Unix()), time.Local
	if !onReal {
		now, zone = backfill.Time(*c.At), nil
	}
	q, err := c.question(now, zone)
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		return cli.Bad(err)
	}
	var a *whatif.Answer
	if onReal {
		a, err = flags.askWhatIf(ctx, q)
	} else {
		a, err = flags.simulateWhatIf(ctx, backfill.Time(*c.At), q)
	}
	if _, bad := errors.AsType[*whatif.BadQuestion](err); bad {
		return cli.Bad(err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a)
	}
	_, err = os.Stdout.WriteString(describeAnswer(a, zone))
	return err
}

// checkPool refuses the flags that say what is simulated, if a pool is asked: it has its own.
func (c *whatIfCommand) checkPool() error {
	for _, flag := range []struct {
		name  string
		value *string
	}{{"workload", c.Workload}, {"under", c.Under}, {"under-order", c.UnderOrder}} {
		if flag.value != nil {
			return fmt.Errorf("--%s is of a simulation (--at T); a pool is asked about its own queue, policy and order",
				flag.name)
		}
	}
	return nil
}

// simulateWhatIf answers about a simulation at an instant.
func (c *poolFlags) simulateWhatIf(ctx context.Context, at backfill.Time, q whatif.Question) (*whatif.Answer, error) {
	c.InProcess = true // so that there can be more than one
	p, err := c.prepare(ctx, "error")
	if err != nil {
		return nil, cli.Bad(err)
	}
	defer p.policy.Close()
	var last *negotiator.Negotiator
	_, err = condorsim.Run(ctx, p.workload, p.config, func(_ context.Context, t backfill.Time) error {
		if t > at {
			return errReached
		}
		return nil
	}, lastOf{&last}, p)
	if err != nil && !errors.Is(err, errReached) {
		return nil, err
	}
	if last == nil {
		return nil, cli.Bad(fmt.Errorf("nothing has happened by second %d of the simulation", at))
	}
	var twins outlook.Twins
	defer twins.Close()
	s := whatif.Schedule{
		Look:  func(_ context.Context, look func(*negotiator.Negotiator) error) error { return look(last) },
		Twins: &twins, Order: p.settings.Order, Rounds: math.MaxInt32,
	}
	return s.Answer(ctx, q)
}

// lastOf keeps the negotiator of the last cycle.
type lastOf struct{ n **negotiator.Negotiator }

// Cycle keeps the negotiator.
func (l lastOf) Cycle(r *negotiator.Report) error {
	*l.n = r.Negotiator()
	return nil
}

// question puts the flags into a question. A zone is that of the clock; nil: times are of a simulation.
func (c *whatIfCommand) question(now backfill.Time, zone *time.Location) (q whatif.Question, err error) {
	q = whatif.Question{
		Policy: c.Policy, Options: c.PolicyOpt, Order: c.Order, Estimates: c.Estimates, Without: c.Without,
	}
	if q.Job, err = c.job(); err != nil {
		return q, err
	}
	for _, spec := range c.With {
		more, wrong := readSlots(spec)
		if wrong != nil {
			return q, wrong
		}
		q.With = append(q.With, more)
	}
	if len(c.Drain) == 0 {
		if c.From != "" || c.For != "" {
			return q, errors.New("--from and --for: name with --drain what is to be drained")
		}
		return q, nil
	}
	from, err := readInstant(c.From, now, zone)
	if err != nil {
		return q, fmt.Errorf("--from %s: %w", c.From, err)
	}
	if c.For == "" {
		return q, errors.New("--drain: say with --for how long, such as --for 4h")
	}
	length, err := readSpan(c.For)
	if err != nil {
		return q, fmt.Errorf("--for %s: %w", c.For, err)
	}
	for _, slot := range c.Drain {
		q.Drain = append(q.Drain, whatif.Drain{Slot: slot, From: from, For: length})
	}
	return q, nil
}

// readSlots reads further slots, such as cpus=64,memory=256GiB,count=4.
func readSlots(text string) (s whatif.Slots, err error) {
	s = whatif.Slots{Count: 1, Amounts: map[string]int64{}}
	var said []string
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			err = fmt.Errorf("%q: must be such as cpus=64", part)
		case slices.Contains(said, name):
			err = fmt.Errorf("%s: may be said once", name)
		case name == "like":
			s.Like = value
		case name == "count":
			s.Count, err = strconv.Atoi(value)
		default:
			s.Amounts[name], err = readAmount(name, value)
		}
		if err != nil {
			return s, fmt.Errorf("--with %s: %w", text, err)
		}
		said = append(said, name)
	}
	return s, nil
}

// amount is a number with a unit, if any.
var amountText = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])(?:i?B)?)?$`)

// readAmount reads an amount of a resource: memory in MiB and disk in KiB, unless a unit says otherwise.
// A part of one of these counts as a whole; of all else there are no parts.
func readAmount(resource, text string) (int64, error) {
	parts := amountText.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%s %q: must be a number, for memory and disk with a unit such as 64GiB", resource, text)
	}
	base := map[string]int{"memory": 1, "disk": 0}
	shift, sized := base[resource]
	n, err := strconv.ParseFloat(parts[1], 64)
	unit := strings.ToUpper(parts[2])
	switch {
	case err != nil:
		return 0, err
	case unit != "" && !sized:
		return 0, fmt.Errorf("%s %q: must be a number without a unit", resource, text)
	case n != math.Trunc(n) && !sized:
		return 0, fmt.Errorf("%s %q: must be a whole number", resource, text)
	case unit != "":
		n *= math.Pow(1024, float64(strings.Index("KMGT", unit)-shift))
	}
	if n = math.Ceil(n); n > backfill.MaxInputAmount {
		return 0, fmt.Errorf("%s %q: must be at most %d", resource, text, int64(backfill.MaxInputAmount))
	}
	return int64(n), nil
}

// readSpan reads a length of time: seconds, or such as 1h30m, or 2d.
func readSpan(text string) (int64, error) {
	wrong := fmt.Errorf("%q: must be a length of time above 0, such as 90m, 2h or 3600", text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 || n > backfill.MaxTime {
			return 0, wrong
		}
		return n, nil
	}
	days := int64(0)
	if before, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseInt(before, 10, 32)
		if err != nil || n < 0 {
			return 0, wrong
		}
		days, text = n*24*60*60, cmp.Or(rest, "0s")
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < 0 || days == 0 && length < time.Second {
		return 0, wrong
	}
	return days + int64(length/time.Second), nil
}

// readInstant reads an instant: "" is now, +2h is from now, and 18:00 the next time that the clock
// shows it. In a simulation it is a second.
func readInstant(text string, now backfill.Time, zone *time.Location) (int64, error) {
	if text == "" {
		return int64(now), nil
	}
	if later, ok := strings.CutPrefix(text, "+"); ok {
		length, err := readSpan(later)
		return int64(now) + length, err
	}
	if zone == nil {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, errors.New("must be a second of the simulation, or such as +2h")
		}
		return n, nil
	}
	today := time.Unix(int64(now), 0).In(zone)
	if clock, err := time.ParseInLocation("15:04", text, zone); err == nil {
		at := time.Date(today.Year(), today.Month(), today.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
		if at.Before(today) {
			at = at.AddDate(0, 0, 1)
		}
		return at.Unix(), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.Unix(), nil
		}
	}
	return 0, errors.New("must be such as 18:00, 2026-05-31 18:00, or +2h")
}
