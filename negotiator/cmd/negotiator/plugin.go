package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/check"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// pluginCommands are the commands about policy plugins.
type pluginCommands struct {
	Check pluginCheck `cmd:"" help:"Say whether a policy plugin does what is asked of one."`
}

// pluginCheck is negotiator plugin check.
type pluginCheck struct {
	Binary    string            `arg:"" help:"The plugin: a path, or NAME for backfill-NAME in a plugin directory."`
	Quick     bool              `help:"Try less of everything, in a few seconds."`
	Seed      uint64            `placeholder:"N" help:"${check_seed}"`
	PolicyOpt map[string]string `placeholder:"K=V" mapsep:"none" help:"Option of the policy; may be repeated."`
	PluginDir []string          `placeholder:"DIR" help:"Where to look for backfill-NAME first; may be repeated."`
	Reads     []string          `name:"plugin-reads" type:"path" placeholder:"PATH" help:"${run_plugin_reads}"`
	MTLS      string            `name:"mtls" enum:"auto,off" default:"auto" help:"${check_mtls}"`
	Deadline  time.Duration     `default:"10s" help:"How long one decision may take."`
	JSON      bool              `name:"json" help:"Print the report as one JSON object."`
	Verbose   bool              `short:"v" help:"Show the plugin's log: the same as --log-level debug."`
	LogLevel  string            `enum:"trace,debug,info,warn,error,off" default:"off" help:"${check_log_level}"`
}

// Help is shown below the flags.
func (*pluginCheck) Help() string {
	return `Examples:
  negotiator plugin check ./backfill-mine
  negotiator plugin check --quick --policy-opt depth=3 ./backfill-mine
  negotiator plugin check --json --seed 17 ./backfill-mine | jq .checks

Exit codes: 0 it passed, perhaps with warnings; 1 a check failed; 2 it is no plugin; 130 interrupted.`
}

// Run checks the plugin and prints the verdict.
func (c *pluginCheck) Run(ctx context.Context) error {
	if c.Deadline <= 0 {
		return cli.Bad(fmt.Errorf("--deadline %v: must be more than nothing", c.Deadline))
	}
	path, err := c.find()
	if err != nil {
		return cli.Bad(err)
	}
	level := hclog.LevelFromString(c.LogLevel)
	if c.Verbose {
		level = hclog.Debug
	}
	bar := cli.NewProgress("check")
	report, err := check.Run(ctx, host.Command{Path: path}, check.Options{
		Policy: c.PolicyOpt, Reads: c.Reads, Seed: c.Seed, Quick: c.Quick, NoMTLS: c.MTLS == "off", Deadline: c.Deadline,
		Clock: time.Now, Log: os.Stderr, LogLevel: level,
		Progress: func(name string, done float64) {
			const parts = 1000
			bar.Say(name)
			bar.Update(int64(done*parts), parts)
		},
	})
	bar.Done()
	if _, options := errors.AsType[*check.OptionsError](err); options || errors.Is(err, host.ErrNotPlugin) {
		return cli.Bad(err)
	}
	if err != nil {
		return err
	}
	if err = c.print(os.Stdout, report); err != nil {
		return err
	}
	if !report.Passed {
		return cli.ErrTold
	}
	return nil
}

// find resolves the binary as --policy does, but never to a linked-in policy.
func (c *pluginCheck) find() (string, error) {
	dirs := c.PluginDir
	if self, err := os.Executable(); err == nil {
		dirs = append(slices.Clone(dirs), filepath.Dir(self))
	}
	path, found, err := host.Find(c.Binary, dirs)
	if err == nil && !found {
		err = fmt.Errorf("%s%s is in none of %s: give the plugin's path, as in ./%s", host.Prefix, c.Binary,
			strings.Join(dirs, ", "), filepath.Base(c.Binary))
	}
	return path, err
}

func (c *pluginCheck) print(out io.Writer, r *check.Report) error {
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	_, err := io.WriteString(out, r.Text(c.again))
	return err
}

// again returns the command line that reproduces a finding; the seed is nil if the finding has none
// of its own.
func (c *pluginCheck) again(seed *uint64) string {
	words := []string{"negotiator plugin check"}
	if c.Quick {
		words = append(words, "--quick")
	}
	for _, path := range c.Reads {
		words = append(words, "--plugin-reads "+path)
	}
	if c.MTLS == "off" {
		words = append(words, "--mtls off")
	}
	if c.Deadline != 10*time.Second {
		words = append(words, "--deadline "+c.Deadline.String())
	}
	at := c.Seed
	if seed != nil {
		at = *seed
	}
	words = append(words, "--seed "+strconv.FormatUint(at, 10))
	for _, name := range slices.Sorted(maps.Keys(c.PolicyOpt)) {
		words = append(words, "--policy-opt "+name+"="+c.PolicyOpt[name])
	}
	return strings.Join(append(words, c.Binary), " ")
}
