package condorsim

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// gpuUsers returns the users whose jobs ask for GPUs: as many as have together at most the share of the work,
// each who still fits, in an order that depends on their names alone. Jobs of no known user ask for none.
func gpuUsers(t *workload.Trace, g *pools.GPUJobs) map[string]bool {
	work, all := map[string]float64{}, 0.0
	for _, j := range t.Jobs {
		done := float64(j.Procs) * float64(j.Run)
		work[j.User] += done
		all += done
	}
	delete(work, "")
	users := slices.Collect(maps.Keys(work))
	slices.SortFunc(users, func(a, b string) int { return cmp.Or(cmp.Compare(hashOf(a), hashOf(b)), cmp.Compare(a, b)) })
	asking, sum, most := map[string]bool{}, 0.0, g.Share*all
	for _, user := range users {
		if sum+work[user] <= most {
			asking[user], sum = true, sum+work[user]
		}
	}
	return asking
}

// hashOf returns a number that looks random.
func hashOf(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // it never fails
	sum := hash.Sum64()
	return (sum ^ sum>>32) * 0x9e3779b97f4a7c15 // short names differ in the last bits alone
}
