// Command policy-plugins is all policies of the project as plugins: under the name of a link
// backfill-NAME it serves the policy NAME, and under its own it makes these links.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

const name = "policy-plugins"

const description = `All policies of the project as plugins, in one program.

Called as backfill-NAME, through a link or as a copy, it is the plugin of the policy NAME. It
replaces nothing when it makes the links: whatever else has such a name is an error.

Examples:
  policy-plugins link /usr/local/lib/backfill
  negotiator --policy easy --plugin-dir /usr/local/lib/backfill

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted.`

// commands is the grammar of the command line.
type commands struct {
	Link linkCommand `cmd:"" help:"Make a link backfill-NAME to this program for each policy."`
}

func main() {
	if policy, plugin := strings.CutPrefix(filepath.Base(os.Args[0]), host.Prefix); plugin {
		serve(policy)
		return
	}
	os.Exit(cli.Main(name, description, &commands{}, os.Args[1:]))
}

func serve(policy string) {
	spec, err := policies.Named(policy)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: called as %s: %v\n", name, os.Args[0], err)
		os.Exit(2)
	}
	sdk.Serve(spec)
}
