package pools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// TestOutagesNameMachines: drains, failures and ends know the slots of ads by the names by which users know
// them, as all other options do.
func TestOutagesNameMachines(t *testing.T) {
	folder := t.TempDir()
	ads := "Name = \"slot1@n1.example\"\nCpus = 4\n\nName = \"slot2@n1.example\"\nCpus = 4\n\nName = \"slot1@n2.example\"\nCpus = 4\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pool.ads"), []byte(ads), 0o600))
	for pattern, want := range map[string][]int{
		"slot1@n1.example": {0}, "n1.example": {0, 1}, "n1": {0, 1}, "n*": {0, 1, 2}, "slot1@*": {0, 2}, "n[2-3]": {2},
	} {
		for _, key := range []string{"drains", "failures", "ends"} {
			file := filepath.Join(folder, "pool.yaml")
			text := "ads: pool.ads\n" + key + ": [{slots: ['" + pattern + "'], at: 5}]\n"
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			p, err := pools.Open(file)
			require.NoError(t, err, pattern)
			require.Equal(t, want, p.Outages[0].Slots, pattern)
		}
	}
}
