package condorconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatchExprs(t *testing.T) {
	for name, c := range map[string]struct{ dump, lines, warning, err string }{
		"none": {dump: "Site = 1"},
		"several": {
			dump: "NEGOTIATOR_MATCH_EXPRS = Site, Until NegotiatorMatchExprOld\nSITE = \"north\"\nUntil = time() + 60\n" +
				"NegotiatorMatchExprOld = Cpus",
			lines: "NegotiatorMatchExprSite = \"north\"\nNegotiatorMatchExprUntil = time() + 60\nNegotiatorMatchExprOld = Cpus\n",
		},
		"over several lines": {
			dump:  "NEGOTIATOR_MATCH_EXPRS = Site\nSite @=end\n  1 +\n  2\n@end",
			lines: "NegotiatorMatchExprSite = 1 + 2\n",
		},
		"of the negotiator alone": {
			dump:  "NEGOTIATOR.NEGOTIATOR_MATCH_EXPRS = Site\nNEGOTIATOR.SITE = 2\nSITE = 1",
			lines: "NegotiatorMatchExprSite = 2\n",
		},
		"one that is not set": {
			dump:    "NEGOTIATOR_MATCH_EXPRS = Site Gone\nSITE = 1",
			lines:   "NegotiatorMatchExprSite = 1\n",
			warning: "NEGOTIATOR_MATCH_EXPRS lists Gone, which is not set: nothing is added to matches",
		},
		"no expression": {
			dump: "NEGOTIATOR_MATCH_EXPRS = Site\nSite = 1 +",
			err:  "Site = 1 +: must be an expression, as NEGOTIATOR_MATCH_EXPRS lists it",
		},
		"no name": {
			dump: "NEGOTIATOR_MATCH_EXPRS = Site=1",
			err:  "NEGOTIATOR_MATCH_EXPRS = Site=1: must be a list of knobs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := Parse(c.dump, "")
			lines, err := site.MatchExprs()
			require.Equal(t, c.lines, lines)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, site.Check(), c.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, site.Check())
			if c.warning != "" {
				require.Equal(t, []string{c.warning}, site.Warnings())
			} else {
				require.Empty(t, site.Warnings())
			}
		})
	}
}
