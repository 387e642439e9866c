// Package serve makes an executable its own plugin: started with a hidden argument it serves one of
// the policies linked into it, so that these run behind the same boundary as all others.
package serve

import (
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// IfChild serves the policy that the arguments (without the program's name) ask for and ends the
// process; it returns if they ask for none. Programs that use host.Self must call it first:
//
//	func main() {
//		serve.IfChild(os.Args[1:], policies.All())
//		…
func IfChild(args []string, specs []backfill.PolicySpec) {
	if len(args) != 2 || args[0] != wire.ServeArg {
		return
	}
	for _, spec := range specs {
		if spec.Name == args[1] {
			sdk.Serve(spec)
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: no policy %q is linked in\n", wire.ServeArg, args[1])
	os.Exit(2)
}
