package matchmaker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestUsersOfAnAutocluster has users join and leave, few or many: the list has each once, with as many
// jobs as it has.
func TestUsersOfAnAutocluster(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPool()
		id := p.clusterFor(t, "u0", ad(t, "Cpus = 1"))
		c, jobs, most := p.clusters[id], map[string]int{"u0": 1}, rapid.IntRange(1, 60).Draw(rt, "users")
		for range rapid.IntRange(0, 400).Draw(rt, "changes") {
			name := fmt.Sprint("u", rapid.IntRange(0, most).Draw(rt, "user"))
			if jobs[name] > 0 && rapid.Bool().Draw(rt, "leaves") {
				p.Leave(id, name)
				jobs[name]--
			} else {
				p.join(c, name)
				jobs[name]++
			}
			there := 0
			for name, n := range jobs {
				if n == 0 {
					require.Negative(rt, c.find(name))
					continue
				}
				there++
				require.Equal(rt, user{name, n}, c.users[c.find(name)])
			}
			require.Len(rt, c.users, there)
			require.Equal(rt, there == 0, p.unused == 1)
		}
	})
}
