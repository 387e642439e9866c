package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// asksPool reports whether to ask the negotiator of a real pool; else the question is about an
// instant of a simulation. Without any flags it selects this machine's pool. An instant (--at) on a
// real pool, or a simulation without one, is an error.
func (c *poolFlags) asksPool(at *int64) (bool, error) {
	onReal, err := c.onRealPool()
	switch {
	case err != nil:
		return false, err
	case onReal && at != nil:
		return false, errors.New("--at is a time of a simulation; on a real pool the negotiator tells what is so now")
	case onReal:
		return true, nil
	case at != nil && *at < 0:
		return false, fmt.Errorf("--at %d: must be a second of the simulation, from 0 on", *at)
	case at != nil:
		return false, nil
	case c.Pool != nil || c.Workload != nil || c.Config != "":
		return false, errors.New("say with --at T at which simulated second to look")
	}
	local := config.LocalPool
	c.Pool = &local
	return true, nil
}

// findNegotiator finds this project's negotiator in the pool: one that makes matches, else one that
// only observes.
func (c *poolFlags) findNegotiator(ctx context.Context) (client.Negotiator, error) {
	ad, secure, err := c.negotiatorAd(ctx)
	if err != nil {
		return client.Negotiator{}, err
	}
	text, _ := ad.Text("MyAddress")
	address, err := cedar.ParseAddress(text)
	if err != nil {
		return client.Negotiator{}, fmt.Errorf("the negotiator's address: %w", err)
	}
	return client.Negotiator{Security: secure, Address: address}, nil
}

// negotiatorAd returns the ad of that negotiator, with the given attributes besides the usual ones,
// and who asks.
func (c *poolFlags) negotiatorAd(ctx context.Context, more ...string) (*classad.ClassAd, *security.Client, error) {
	site := daemon.Site{Config: condorconfig.Parse("", "")}
	var err error
	if *c.Pool == config.LocalPool {
		if site.Config, err = condorconfig.Read(ctx, condorconfig.Source{}); err != nil {
			return nil, nil, cli.Bad(noLocalPool(err))
		}
		c.htcondor.Store(site.Config)
	}
	if site.Settings, err = c.settings(); err != nil {
		return nil, nil, cli.Bad(err)
	}
	if err = site.ReadSecrets(); err != nil {
		return nil, nil, cli.Bad(err)
	}
	secure, err := site.Client()
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	secure.Name = "TOOL"
	addresses, err := site.Collectors()
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	collector := client.Collector{Security: secure, Addresses: addresses, Locate: c.locateCollector}
	var ads []*classad.ClassAd
	attributes := append([]string{"Name", "MyAddress", "BackfillPolicy", "BackfillObserve"}, more...)
	err = collector.Query(ctx, []client.AdType{
		{Name: client.NegotiatorType, Projection: attributes},
		{Name: client.ObserverType, Projection: attributes},
	},
		func(lines cedar.Lines) error {
			ad, wrong := classad.ParseOld(string(lines))
			ads = append(ads, ad)
			return wrong
		})
	if err != nil {
		return nil, nil, fmt.Errorf("find the pool's negotiator: %w", err)
	}
	all := len(ads)
	ads = slices.DeleteFunc(ads, func(ad *classad.ClassAd) bool { _, ours := ad.Text("BackfillPolicy"); return !ours })
	switch {
	case all == 0:
		return nil, nil, errors.New("the collector knows of no negotiator: is it running? condor_status " +
			"-negotiator lists them")
	case len(ads) == 0:
		return nil, nil, errors.New("the pool's negotiator is HTCondor's own, which knows no start times; " +
			"an administrator can try this one beside it, with negotiator --observe")
	}
	slices.SortStableFunc(ads, func(a, b *classad.ClassAd) int { return observes(a) - observes(b) })
	return ads[0], secure, nil
}

// noLocalPool says what to give where this machine's own pool cannot be asked.
func noLocalPool(err error) error {
	if !errors.Is(err, condorconfig.ErrNone) {
		return err
	}
	return fmt.Errorf("whom to ask is not said. Of a simulated pool, also of one that runs in another terminal, ask "+
		"about a second T of its time, with its --pool, --workload and policy: --at T. Of a real pool: --pool "+
		"htcondor://HOST:PORT; or on a machine of the pool, whose %s is in the PATH, without any flag",
		condorconfig.Program)
}

// locateCollector returns the address that this machine's collector has written down, by HTCondor's
// configuration as it is now.
func (c *poolFlags) locateCollector() (cedar.Address, error) {
	return daemon.LocateCollector(c.htcondor.Load())
}

func observes(ad *classad.ClassAd) int {
	if observe, _ := ad.Bool("BackfillObserve"); observe {
		return 1
	}
	return 0
}

// explained is all that the negotiator of a real pool tells about a job.
type explained struct {
	daemon.JobForecast
	SlotsInPool   int64           `json:"slots_in_pool"`
	SlotsMatching int64           `json:"slots_matching"`
	SlotsRefusing int64           `json:"slots_refusing"`
	SlotsClosed   []closed        `json:"slots_closed,omitempty"`
	SlotsPaused   []daemon.Paused `json:"slots_paused,omitempty"`
	Clauses       []clause        `json:"clauses"`
	// Policy is who is in charge; nil if the pool's policy is not chosen.
	Policy *daemon.PolicyChoice `json:"policy,omitempty"`
	paused int64                // how many there are; SlotsPaused are the first of them
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

func readExplained(ad *classad.ClassAd) explained {
	e := explained{JobForecast: daemon.ReadJobForecast(ad, time.Local), Clauses: []clause{}}
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
	e.paused, _ = ad.Int("SlotsPaused")
	e.Policy = daemon.ReadPolicyChoice(ad)
	for i := 1; ; i++ {
		text, ok := ad.Text(fmt.Sprintf("Clause%d", i))
		if !ok {
			return e
		}
		met, _ := ad.Int(fmt.Sprintf("ClauseMet%d", i))
		e.Clauses = append(e.Clauses, clause{text, e.SlotsInPool - met})
	}
}

// jobName matches the name of a job of a real pool, or of a cluster of jobs.
var jobName = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(@.+)?$`)

// askExplain explains a job of a real pool. For a cluster of several jobs it lists the start times.
func (c *explainCommand) askExplain(ctx context.Context) error {
	if !jobName.MatchString(c.Job) {
		return cli.Bad(fmt.Errorf("%q names no job: write CLUSTER.PROC as condor_q does, such as 12.0, or CLUSTER "+
			"for all of them, and @SCHEDD behind it if there are several", c.Job))
	}
	n, err := c.findNegotiator(ctx)
	if err != nil {
		return err
	}
	ads, err := n.Explain(ctx, c.Job)
	if err != nil {
		return silent(err)
	}
	if len(ads) == 0 {
		return cli.Bad(fmt.Errorf("no job %s waits or runs in this pool: it may be on hold or have ended (condor_q, "+
			"condor_history), be named otherwise (negotiator start-times), or be new: the next cycle sees it", c.Job))
	}
	all := make([]explained, len(ads))
	for i, ad := range ads {
		all[i] = readExplained(ad)
	}
	if c.JSON {
		return printJSON(all)
	}
	if cluster, _, _ := strings.Cut(c.Job, "@"); len(all) > 1 && !strings.Contains(cluster, ".") {
		plans := make([]daemon.JobForecast, len(all))
		for i, e := range all {
			plans[i] = e.JobForecast
		}
		if err = printPlans(plans, 0, false); err == nil {
			_, err = fmt.Printf(" all that is known of one: negotiator explain %s\n",
				backfill.Printable(all[0].Job, longest))
		}
		return err
	}
	var text strings.Builder
	for i, e := range all {
		if i > 0 {
			text.WriteString("\n")
		}
		e.write(&text, time.Local)
	}
	_, err = os.Stdout.WriteString(text.String())
	return err
}

// write prints what is known of the job. Times are in the given zone.
func (e explained) write(out *strings.Builder, zone *time.Location) {
	name := e.Job
	if e.Schedd != "" && !strings.HasSuffix(name, "@"+e.Schedd) {
		name += " at " + e.Schedd
	}
	if e.Owner != "" {
		name += ", of " + e.Owner
	}
	fmt.Fprintf(out, "Job %s: %s\n", backfill.Printable(name, longest), backfill.Printable(e.Reason, longest))
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-16s %s\n", label, backfill.Printable(text, longest))
		}
	}
	if e.Situation == "runs" {
		line("started", moment(e.Start, zone))
	} else {
		line("expected start", moment(e.Start, zone))
		line("80 % range", e.Span(zone))
	}
	line("guaranteed by", moment(e.Guarantee, zone))
	if e.Reserved != nil {
		line("reserved for", moment(e.Reserved, zone))
	}
	line("on", e.Slots)
	line("behind", e.Behind)
	if e.Policy != nil {
		line("policy", e.Policy.Tell(zone))
	}
	if e.Predicted != nil {
		line("run time", fmt.Sprintf("%d s requested, %d s expected", *e.Requested, *e.Predicted))
	}
	if e.SlotsInPool == 0 {
		return
	}
	slots := []string{fmt.Sprintf("%d in the pool, %d match", e.SlotsInPool, e.SlotsMatching)}
	for _, c := range e.SlotsClosed {
		slots = append(slots, fmt.Sprintf("%d %s", c.Slots, c.Why))
	}
	slots = append(slots, fmt.Sprintf("%d refuse it by their own Requirements", e.SlotsRefusing))
	line("slots", strings.Join(slots, ", "))
	line("left out", e.leftOut(zone))
	t := plainTable("slots without", "of its Requirements")
	for _, clause := range e.Clauses {
		if clause.Unmet > 0 {
			t.AppendRow(table.Row{clause.Unmet, backfill.Printable(clause.Text, longest)})
		}
	}
	if t.Length() == 0 {
		return
	}
	for row := range strings.SplitSeq(t.Render(), "\n") {
		out.WriteString("  " + row + "\n")
	}
}

// leftOut lists the slots on which starts failed; "": there are none.
func (e explained) leftOut(zone *time.Location) string {
	var texts []string
	for _, p := range e.SlotsPaused {
		texts = append(texts, fmt.Sprintf("%s until %s, failed starts: %d", p.Slot,
			time.Unix(p.Until, 0).In(zone).Format(time.TimeOnly), p.FailedStarts))
	}
	if more := e.paused - int64(len(texts)); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// moment formats a time in a zone; nil becomes "".
func moment(unix *int64, zone *time.Location) string {
	if unix == nil {
		return ""
	}
	return time.Unix(*unix, 0).In(zone).Format(time.DateTime)
}

// askStartTimes lists the waiting jobs of a real pool.
func (c *startTimesCommand) askStartTimes(ctx context.Context) error {
	if c.Accuracy {
		return c.askAccuracy(ctx)
	}
	n, err := c.findNegotiator(ctx)
	if err != nil {
		return err
	}
	requirements := ""
	if c.Owner != "" {
		requirements = "Owner =?= " + quoted(c.Owner)
	}
	ads, err := n.Plans(ctx, requirements)
	if err != nil {
		return silent(err)
	}
	all := make([]daemon.JobForecast, len(ads))
	for i, ad := range ads {
		all[i] = daemon.ReadJobForecast(ad, time.Local)
	}
	return printPlans(all, c.Limit, c.JSON)
}

// askAccuracy tells how true the start times of a real pool were.
func (c *startTimesCommand) askAccuracy(ctx context.Context) error {
	ad, _, err := c.negotiatorAd(ctx, daemon.AccuracyAttributes()...)
	if err != nil {
		return err
	}
	all := daemon.ReadAccuracy(ad)
	if c.JSON {
		return printJSON(all)
	}
	t := plainTable("told", "jobs", "median error", "p90 error", "in the 80 % range")
	seconds := func(n int64) string { return (time.Duration(n) * time.Second).String() }
	for _, m := range all {
		row := table.Row{m.Told, m.Jobs, "", "", ""}
		if m.Jobs > 0 {
			row[2], row[3] = seconds(m.Median), seconds(m.P90)
		}
		if m.Ranged > 0 {
			row[4] = fmt.Sprintf("%.0f %% of %d", 100*m.Within, m.Ranged)
		}
		t.AppendRow(row)
	}
	_, err = os.Stdout.WriteString(t.Render() + "\n")
	return err
}

// silent adds to an error why a negotiator may not answer although the collector has its ad.
func silent(err error) error {
	return fmt.Errorf("%w; its ad outlives it by some minutes: it may be down, or just starting (condor_status "+
		"-negotiator)", err)
}

// quoted is the text as a ClassAd string.
func quoted(text string) string {
	ad := classad.New()
	ad.SetString("Text", text)
	return ad.Eval("Text", nil).String()
}

// printPlans lists the start times of the first jobs, up to the limit; 0: of all.
func printPlans(all []daemon.JobForecast, limit int, asJSON bool) error {
	shown := first(all, limit)
	if asJSON {
		return printJSON(shown)
	}
	t := plainTable("job", "owner", "expected start", "80 % range", "guaranteed by", "slots", "reason")
	zone := time.Local
	for _, j := range shown {
		t.AppendRow(table.Row{
			backfill.Printable(j.Job, longest), backfill.Printable(j.Owner, longest), moment(j.Start, zone),
			j.Span(zone), moment(j.Guarantee, zone), backfill.Printable(j.Slots, longest), backfill.Printable(j.Why(zone), longest),
		})
	}
	_, err := os.Stdout.WriteString(t.Render() + "\n" + more(len(all)-len(shown)))
	return err
}

// printPlan lists the plan that --once made.
func (c *runCommand) printPlan(d *daemon.Daemon) error {
	plan, err := d.Forecast()
	if err != nil {
		return err
	}
	return printPlans(plan.Jobs, 0, c.JSON)
}

// askWhatIf asks the negotiator of a real pool.
func (c *poolFlags) askWhatIf(ctx context.Context, q whatif.Question) (*whatif.Answer, error) {
	n, err := c.findNegotiator(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	reply, err := n.WhatIf(ctx, string(text))
	switch {
	case err != nil:
		return nil, silent(err)
	case reply.Bad != "":
		return nil, cli.Bad(errors.New(reply.Bad))
	case reply.Failed != "":
		return nil, errors.New(reply.Failed)
	}
	a := &whatif.Answer{}
	if err = json.Unmarshal([]byte(reply.Answer), a); err != nil {
		return nil, fmt.Errorf("the negotiator's answer: %w", err)
	}
	return a, nil
}
