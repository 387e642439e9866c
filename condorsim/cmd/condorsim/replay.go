package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/negotiator/record/replay"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// replayCommand is condorsim replay.
type replayCommand struct {
	Files     []string          `arg:"" name:"file" help:"Records that were written with --record, in any order."`
	With      string            `placeholder:"POLICY" help:"${replay_with}"`
	WithOpt   map[string]string `placeholder:"K=V" mapsep:"none" help:"Option of that policy instead of those in the record."`
	GoOn      bool              `help:"${replay_go_on}"`
	DumpDir   string            `default:"." placeholder:"DIR" help:"${replay_dump_dir}"`
	JSON      bool              `name:"json" help:"Print the result as one JSON object."`
	LogLevel  string            `enum:"trace,debug,info,warn,error,off" default:"warn" help:"${run_log_level}"`
	PluginDir []string          `placeholder:"DIR" help:"${run_plugin_dir}"`
}

// Help is shown below the flags.
func (*replayCommand) Help() string {
	return `Opens each round of a record on the state that its policy saw, has the policy decide again, and compares.
If all decisions are the same, the record proves what was decided. Else the first that differs is shown, beside
the one that was made, and the state is written as an instance for condorsim run --instance: an approximation,
which has neither labels, slots nor reservations.

Records are written by negotiator run --record FILE and condorsim run --record FILE. A negotiator keeps former
files beside FILE, named after the time: name them as well.

Rounds in which the policy failed, or its decision was refused, are decided by the fallback, as they were.

Examples:
  condorsim replay pool.rec
  condorsim replay pool.rec pool.rec.2026*
  condorsim replay pool.rec --with ./backfill-mine
  condorsim replay pool.rec --with easy --go-on

Exit codes: 0 all decisions are the same, 1 some differ, 2 bad input, 130 interrupted.`
}

// replayed is the result of a replay, as JSON has it.
type replayed struct {
	*replay.Result
	Seconds float64 `json:"seconds"` // that the replay took
	// First is the first round that differs.
	First *firstDifference `json:"first,omitempty"`
}

type firstDifference struct {
	Round    int           `json:"round"`
	At       backfill.Time `json:"at"`
	Policy   string        `json:"policy"`
	Why      string        `json:"why"`
	Was      []string      `json:"was"`
	Is       []string      `json:"is"`
	Waiting  int           `json:"waiting"`
	Running  int           `json:"running"`
	Instance string        `json:"instance"`
}

// Run replays and prints.
func (c *replayCommand) Run(ctx context.Context, p *process) error {
	began := time.Now()
	with := &withPolicy{command: c, errs: p.errs}
	defer with.close()
	bar := cli.NewProgress("MB")
	defer bar.Done()
	read := &reading{bar: bar, total: sizeOf(c.Files)}
	r := replay.New(replay.Options{Deciders: with.deciders, GoOn: c.GoOn})
	files, without, err := inOrder(c.Files)
	if err != nil {
		return cli.Bad(err)
	}
	for _, name := range without {
		if _, err = fmt.Fprintf(p.errs, "%s is left out: what writes it has just begun, or was killed then\n", name); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err = read.replay(ctx, r, name); err != nil {
			return cli.Bad(err)
		}
		if r.Result().First != nil && !c.GoOn {
			break
		}
	}
	if r.Result().Begins == 0 {
		return cli.Bad(fmt.Errorf("%s: has no whole beginning yet: there is nothing to replay", c.Files[0]))
	}
	bar.Done()
	result := &replayed{Result: r.Result(), Seconds: time.Since(began).Seconds()}
	if err = c.describe(result); err != nil {
		return err
	}
	if err = c.print(p.out, result); err != nil {
		return err
	}
	if n := result.Different; n > 0 {
		return fmt.Errorf("%d of %d rounds are decided otherwise", n, result.Rounds)
	}
	return nil
}

// inOrder returns records in the order of their beginnings, without those of several that have none.
func inOrder(files []string) (ordered, without []string, err error) {
	if len(files) < 2 {
		return files, nil, nil
	}
	first := map[string]int64{}
	for _, name := range files {
		at, firstErr := record.First(name)
		switch {
		case errors.Is(firstErr, record.ErrNoBeginning):
			without = append(without, name)
			continue
		case firstErr != nil:
			return nil, nil, firstErr
		}
		first[name] = at
		ordered = append(ordered, name)
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	return ordered, without, nil
}

// reading reads records, with a bar for how far it is.
type reading struct {
	bar         *cli.Progress
	done, total int64
}

// count counts what is read of a file.
func (r *reading) count(from io.Reader) io.Reader { return &countedReader{from, r} }

type countedReader struct {
	io.Reader
	r *reading
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.r.done += int64(n)
	c.r.bar.Update(c.r.done>>20, c.r.total>>20)
	return n, err
}

func sizeOf(files []string) (total int64) {
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

func (r *reading) replay(ctx context.Context, to *replay.Replay, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read record: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	from, err := record.NewReader(r.count(file), name)
	if err != nil {
		return err
	}
	defer from.Close()
	return to.Run(ctx, from)
}

// withPolicy makes the policies of a record, or the one that takes their place.
type withPolicy struct {
	command *replayCommand
	errs    io.Writer
	chosen  *choose.Chosen
}

func (w *withPolicy) close() {
	if w.chosen != nil {
		w.chosen.Close()
	}
}

// deciders makes the policy of a record.
func (w *withPolicy) deciders(ctx context.Context, p *recordv1.Policy, resources []string) (main, fallback backfill.Decider,
	err error,
) {
	w.close()
	c := w.command
	request := choose.Request{
		Policy: p.GetName(), Options: record.MapOf(p.GetOptions()), Fallback: p.GetFallback(), Resources: resources,
		Dirs: c.PluginDir, InProcess: true,
		Plugins: choose.Plugins{Run: host.Options{
			NoMTLS: true, Logger: cli.Logger("condorsim", c.LogLevel, w.errs), User: host.Nobody, Deadline: host.NoDeadline,
		}},
	}
	if c.With != "" {
		request.Policy = c.With // the fallback of then still decides what it decided
		if filepath.Base(c.With) == c.With && c.With != p.GetName() {
			request.Options = nil // those are another policy's
		}
	}
	if c.WithOpt != nil {
		request.Options = c.WithOpt
	}
	otherHistory := fmt.Errorf("--with %s: it cannot take the place of %s, as only one of them gives guarantees: what "+
		"it would have done is another history; run the record's jobs under it", c.With, p.GetName())
	if w.chosen, err = choose.Policy(ctx, request); err != nil {
		if _, unfit := errors.AsType[*policies.FallbackError](err); unfit && c.With != "" {
			return nil, nil, otherHistory
		}
		if c.With == "" && p.GetPlugin() {
			err = fmt.Errorf("%w; the record was decided by a plugin: give it with --with FILE", err)
		}
		return nil, nil, err
	}
	if w.chosen.Main.Spec().Guarantees != p.GetGuarantees() {
		return nil, nil, otherHistory
	}
	return w.chosen.Main, w.chosen.Fallback, nil
}

// describe describes the first round that differs, and writes its state as an instance.
func (c *replayCommand) describe(r *replayed) error {
	d := r.Result.First
	if d == nil {
		return nil
	}
	r.First = &firstDifference{
		Round: d.Number, At: d.At, Policy: d.Policy, Why: d.Different.Error(),
		Was: d.Actions(d.Was), Is: d.Actions(d.Is),
		Instance: filepath.Join(c.DumpDir, fmt.Sprintf("condorsim-replay-%d-at-%d.json", d.Number, d.At)),
	}
	for _, j := range d.State.Jobs {
		switch {
		case j.Running:
			r.First.Running++
		case j.Held == "":
			r.First.Waiting++
		}
	}
	if err := os.MkdirAll(c.DumpDir, 0o777); err != nil {
		return cli.Bad(fmt.Errorf("--dump-dir: %w", err))
	}
	trace := condorsim.RoundAsTrace(d.State, d.Round)
	return wholefile.Write("the round", r.First.Instance, trace.WriteInstance)
}

// print prints the result.
func (c *replayCommand) print(out io.Writer, r *replayed) error {
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	t := cli.Table("replay", "")
	row := func(name string, value any) { t.AppendRow([]any{name, value}) }
	span := float64(r.To - r.From)
	row("from, to", fmt.Sprintf("%d, %d (%s)", r.From, r.To, inwords.Duration(span, 0)))
	row("policies", r.Policies)
	row("cycles", inwords.Whole(r.Cycles))
	row("rounds", inwords.Whole(r.Rounds))
	row("  of the policy", inwords.Whole(r.Own))
	row("  of its fallback", inwords.Whole(r.FellBack))
	row("events", inwords.Whole(r.Events))
	row("actions compared", inwords.Whole(r.Actions))
	row("whole states compared", inwords.Whole(r.States))
	row("rounds that differ", inwords.Whole(r.Different))
	row("took", inwords.Duration(r.Seconds, 2)+faster(span, r.Seconds))
	if _, err := fmt.Fprintln(out, t.Render()); err != nil {
		return err
	}
	if r.Torn {
		if _, err := fmt.Fprintln(out, "The record ends within a frame: what wrote it was killed, or goes on. It was read up to there."); err != nil {
			return err
		}
	}
	return r.First.print(out)
}

// faster says how much faster than its time a record was replayed.
func faster(span, seconds float64) string {
	if seconds <= 0 || span <= 0 {
		return ""
	}
	return ", " + inwords.Whole(int(span/seconds)) + " times as fast as it was"
}

// print shows the two decisions of a round.
func (f *firstDifference) print(out io.Writer) error {
	if f == nil {
		return nil
	}
	t := cli.Table("round "+strconv.Itoa(f.Round)+" at "+strconv.FormatInt(int64(f.At), 10), "was", "is")
	const most = 20
	for i := range min(most, max(len(f.Was), len(f.Is))) {
		t.AppendRow([]any{"action " + strconv.Itoa(i+1), at(f.Was, i), at(f.Is, i)})
	}
	_, err := fmt.Fprintf(out, "\n%s\n%d jobs ran and %d waited. %s\nRun the state alone: condorsim run --instance %s --policy %s\n",
		t.Render(), f.Running, f.Waiting, f.Why, cli.Quoted(f.Instance), cli.Quoted(f.Policy))
	return err
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
