package configs_test

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
)

const (
	jobCount         = 54
	shortestRun      = 3      // s
	longest          = 90     // s
	estimateRounding = 30     // s
	memoryRounding   = 256    // MiB
	scratch          = 102400 // KiB of disk in class A
	rankMemory       = 2048   // MiB a node from which a job prefers nodes with more
)

// TestNPB54 keeps the workload equal to what the model says; with -update it
// writes the file anew.
func TestNPB54(t *testing.T) {
	var b strings.Builder
	b.WriteString("# 54 jobs modelled on the NAS parallel benchmarks; see README.md. " +
		"Generated: go test ./configs -update\n" +
		"# One submitted each second. RequestCpus, RequestMemory (MiB) and RequestDisk (KiB) are per node, " +
		"times in seconds.\n")
	for _, j := range generate() {
		b.WriteString(j.ad())
	}
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(configs.NPB54, []byte(b.String()), 0o600))
		return
	}
	text, err := fs.ReadFile(configs.Files(), configs.NPB54)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text), "write the file anew with -update")
}

// job is one job of the workload, submitted at second id.
type job struct {
	shape
	id, run, estimate int
	memory            int // MiB asked for on each node
	owner             string
}

// user is someone with a habit of asking for more than needed: so many times
// the run time, up to half as much again, and so many times the memory.
type user struct {
	name         string
	time, memory float64
}

func users() []user {
	return []user{{"alice", 1.05, 1}, {"bob", 1.5, 1.25}, {"carol", 2.5, 1.5}, {"dave", 4, 2}}
}

// generate draws the jobs: every benchmark in turn, in shuffled rounds. By turns
// one is narrow, of some ways to run it the one with most memory a core, and one
// wide, the way with most cores, so that holes of both kinds are left. The seed
// is one with which memory runs short as well (TestOverload).
func generate() []job {
	random := rand.New(rand.NewPCG(1159, 2016))
	all := benchmarks()
	jobs := make([]job, jobCount)
	for i := range jobs {
		round := i % len(all)
		if round == 0 {
			random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		}
		nodes, most := 1+random.IntN(2), shape.needPerCore
		if i%2 == 1 {
			nodes, most = 2+random.IntN(3), func(s shape) float64 { return float64(s.cores()) }
		}
		s := drawShape(random, all[round].shapes(nodes, shortestRun, longest), most)
		u := users()[random.IntN(len(users()))]
		run := min(longest, math.Round(s.seconds()*(0.95+0.15*random.Float64())))
		jobs[i] = job{
			shape: s, id: i, owner: u.name, run: int(run),
			estimate: roundUp(run*u.time*(1+0.5*random.Float64()), estimateRounding),
			memory:   min(nodeMemory, roundUp(s.need()*u.memory, memoryRounding)),
		}
	}
	return jobs
}

func roundUp(x float64, unit int) int { return int(math.Ceil(x/float64(unit))) * unit }

// drawShape draws three times and keeps the one with most.
func drawShape(random *rand.Rand, list []shape, most func(shape) float64) shape {
	best := list[random.IntN(len(list))]
	for range 2 {
		if s := list[random.IntN(len(list))]; most(s) > most(best) {
			best = s
		}
	}
	return best
}

// ad is the job as a ClassAd in the line form.
func (j job) ad() string {
	rank := "0.0"
	if j.memory >= rankMemory {
		rank = "TARGET.Memory"
	}
	disk := map[class]int{"A": scratch, "B": 4 * scratch, "C": 16 * scratch}[j.class]
	return fmt.Sprintf(`MyType = "Job"
ClusterId = 1
ProcId = %d
Owner = "%s"
QDate = %d
JobUniverse = 11
MinHosts = %d
MaxHosts = %d
RequestCpus = %d
RequestMemory = %d
RequestDisk = %d
Cmd = "%s.%s.%d"
EstimatedRunTime = %d
RemoteWallClockTime = %d
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = %s

`, j.id, j.owner, j.id, j.nodes, j.nodes, j.cores(), j.memory, disk,
		j.benchmark.name, j.class, j.processes, j.estimate, j.run, rank)
}

// TestOverload checks what the workload is for: the pool cannot keep up, and
// starting jobs out of order helps.
func TestOverload(t *testing.T) {
	jobs := generate()
	inOrder, outOfOrder := replay(jobs, false), replay(jobs, true)
	t.Logf("in order: makespan %d s, mean wait %.1f s; first fit: makespan %d s, mean wait %.1f s",
		inOrder.makespan, inOrder.meanWait, outOfOrder.makespan, outOfOrder.meanWait)
	require.GreaterOrEqual(t, inOrder.makespan, 400)
	require.LessOrEqual(t, inOrder.makespan, 700)
	require.Less(t, outOfOrder.meanWait, 0.8*inOrder.meanWait)

	for i := range jobs {
		jobs[i].memory = 1
	}
	require.NotEqual(t, inOrder, replay(jobs, false), "memory binds")
	require.NotEqual(t, outOfOrder, replay(jobs, true), "memory binds")
}

type result struct {
	makespan int
	meanWait float64
}

// replay runs the jobs second by second, in order or each as soon as it fits.
func replay(jobs []job, outOfOrder bool) result {
	type room struct{ cores, memory int }
	var free [poolNodes]room
	for i := range free {
		free[i] = room{coresPerNode, nodeMemory}
	}
	type placed struct {
		job
		end    int
		chunks [poolNodes]int
	}
	// place fills node after node.
	place := func(j job) (p placed, fits bool) {
		left := j.nodes
		for i, f := range free {
			p.chunks[i] = min(left, f.cores/j.cores(), f.memory/j.memory)
			left -= p.chunks[i]
		}
		return p, left == 0
	}
	use := func(p placed, sign int) {
		for i, n := range p.chunks {
			free[i].cores -= sign * n * p.cores()
			free[i].memory -= sign * n * p.memory
		}
	}
	var r result
	var running []placed
	waiting := jobs
	for now := 0; len(waiting)+len(running) > 0; now++ {
		var still []placed
		for _, p := range running {
			if p.end > now {
				still = append(still, p)
				continue
			}
			use(p, -1)
			r.makespan = now
		}
		running = still
		var stay []job
		for _, j := range waiting {
			p, fits := place(j)
			if j.id > now || !fits || len(stay) > 0 && !outOfOrder {
				stay = append(stay, j)
				continue
			}
			p.job, p.end = j, now+j.run
			use(p, 1)
			running = append(running, p)
			r.meanWait += float64(now-j.id) / float64(len(jobs))
		}
		waiting = stay
	}
	return r
}
