package condorconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutEffect: of HTCondor's knobs that are not heeded, those are named that are set to something
// else than by default, with the place.
func TestWithoutEffect(t *testing.T) {
	const file = "/etc/condor/config.d/98-x.conf, line 6"
	for _, tt := range []struct{ knob, value, source, usual, warning string }{
		{"PREEMPTION_REQUIREMENTS", "RemoteUserPrio > 2", file, "False", ""},
		{"RANK", "Owner == \"alice\"", file, "", ""},
		{"NEGOTIATOR.NEGOTIATOR_CYCLE_DELAY", "2", file, "20", "set BACKFILL_CYCLE_DELAY"},
		{"NEGOTIATOR_CYCLE_DELAY", "4 * 5", file, "20", ""},
		{"NEGOTIATOR_TIMEOUT", "60", file, "60", ""}, // another version's default
		{"COLLECTOR_HOST_FOR_NEGOTIATOR", "cm.site", file, "", ""},
		{"COLLECTOR_HOST_FOR_NEGOTIATOR", "b.site", "<Default>", "", ""},
		{"NEGOTIATOR_ATTRS", "", file, "", ""},
		{"SCHEDD.SLOT_WEIGHT", "Memory", file, "Cpus", ""},
	} {
		dump := "FULL_HOSTNAME = cm.site\n" + tt.knob + " = " + tt.value + "\n # at: " + tt.source + "\n"
		if tt.usual != "" {
			dump += " # default: " + tt.usual + "\n"
		}
		warnings := Parse(dump, "").Warnings()
		if tt.warning == "" {
			require.Empty(t, warnings, tt.knob+" = "+tt.value)
			continue
		}
		require.Len(t, warnings, 1)
		name := tt.knob[strings.IndexByte(tt.knob, '.')+1:]
		require.Regexp(t, "^"+name+" is set \\("+file+"\\), and not heeded here: .*"+tt.warning, warnings[0])
	}
	// Without places, as -dump alone prints it, only values count.
	require.Empty(t, Parse("NEGOTIATOR_CYCLE_DELAY = 20\nFULL_HOSTNAME = a\nCOLLECTOR_HOST_FOR_NEGOTIATOR = a\n", "").Warnings())
	require.Len(t, Parse("NEGOTIATOR_CYCLE_DELAY = 2\n", "").Warnings(), 1)
}

func TestHeedsLeases(t *testing.T) {
	_, line, _ := strings.Cut(StartLine, " = ")
	require.True(t, HeedsLeases(strings.ReplaceAll(line, "$(START)", "true")))
	require.True(t, HeedsLeases(strings.ToLower(line)), "a startd may spell it otherwise")
	require.False(t, HeedsLeases("KeyboardIdle > 60"))
}
