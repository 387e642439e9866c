package condorconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSiteAttributes: all lists count, each name once, and the daemon's own values come first. What is
// not set is no attribute, and what is no expression gets a warning.
func TestSiteAttributes(t *testing.T) {
	const knobs = "NEGOTIATOR_ATTRS = Room, Cost Unset\nNEGOTIATOR_EXPRS = cost, Broken\nN2_NEGOTIATOR_ATTRS = Own\n" +
		"Room = \"B2\"\nCost = 1 + 2\nBroken = the room\nOwn = true\nN2_Room = \"B3\"\nNEGOTIATOR.Cost = 4\n"
	lines, warnings := Parse(knobs, "").siteAttributes()
	require.Equal(t, "Room = \"B2\"\nCost = 4\n", lines)
	require.Equal(t, []string{"NEGOTIATOR_ATTRS lists Broken, which is no attribute of the Negotiator ad: the room is no " +
		"expression; a text must be in quotes"}, warnings)
	require.Equal(t, warnings, Parse(knobs, "").Warnings())
	lines, _ = Parse(knobs, "n2").siteAttributes()
	require.Equal(t, "Room = \"B3\"\nCost = 4\nOwn = true\n", lines)
	s, err := Parse(knobs, "").Settings("")
	require.NoError(t, err)
	require.Equal(t, "Room = \"B2\"\nCost = 4\n", s.SiteAttributes)
}
