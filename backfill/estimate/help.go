package estimate

import (
	"fmt"
	"strings"
)

// Help tells users which estimators there are and what can be set.
func Help() string {
	var text strings.Builder
	text.WriteString("Run times to plan with (--estimates), from what users request and what is known of past jobs:\n\n")
	for _, e := range Estimators() {
		fmt.Fprintf(&text, "  %-16s %s\n", e.usage(), e.Doc)
	}
	text.WriteString(`
There are three uses, and each can have an estimator of its own: --estimates-order for the queue's
order, --estimates-backfill for how long a waiting job is taken to run, --estimates-running for when
a running job is taken to end. With policies that give guarantees, estimates change the order alone.
Jobs are ended at what they request, never at what was foretold.

Options (--estimates-opt NAME=VALUE):

`)
	for _, o := range Options() {
		fmt.Fprintf(&text, "  %-16s %s [%s]\n", o.Name, o.Doc, o.Default)
	}
	text.WriteString(`
An option that no estimator which was chosen goes by is refused. tsafrir goes by max-age and
user-key alone, user by no project-key, project by no user-key; what does not learn goes by none.
`)
	return text.String()
}
