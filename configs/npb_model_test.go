package configs_test

import "math"

// The model of the NAS parallel benchmarks behind workloads/npb54.ads. It is
// described in workloads/README.md.

const (
	poolNodes    = 4
	coresPerNode = 8
	nodeMemory   = 16384 // MiB

	startup       = 2    // s to start the processes on the nodes
	halo          = 1.10 // share of the arrays kept twice at the borders
	processMemory = 64   // MiB of program, MPI library and buffers
)

// benchmark is one of the eight programs.
type benchmark struct {
	name   string
	square bool              // needs a square number of processes; else a power of two
	rate   float64           // Gop/s of one core
	comm   float64           // loss by each doubling of processes, twice that by each of nodes
	size   map[class]problem // of each class
}

type class string

// problem is the size of a benchmark in a class.
type problem struct {
	gop    float64 // 10⁹ operations in all
	memory float64 // MiB of all arrays
}

func benchmarks() []*benchmark {
	return []*benchmark{
		{"bt", true, 2.5, 0.020, grids(200, 368,
			func(n float64) float64 { return 3478.8*n*n*n - 17655.7*n*n + 28023.7*n })},
		{"cg", false, 0.8, 0.060, map[class]problem{"A": cg(14000, 11, 15), "B": cg(75000, 13, 75), "C": cg(150000,
			15, 75)}},
		{"ep", false, 1.8, 0, map[class]problem{"A": ep(28), "B": ep(30), "C": ep(32)}},
		{"ft", false, 2.4, 0.050, map[class]problem{
			"A": ft(256*256*128, 6), "B": ft(512*256*256, 20),
			"C": ft(512*512*512, 20),
		}},
		{"is", false, 0.6, 0.100, map[class]problem{"A": is(23), "B": is(25), "C": is(27)}},
		{"lu", false, 2.5, 0.025, grids(250, 176,
			func(n float64) float64 { return 1984.77*n*n*n - 10923.3*n*n + 27770.9*n - 144010 })},
		{"mg", false, 2.4, 0.040, map[class]problem{"A": mg(256, 4), "B": mg(256, 20), "C": mg(512, 20)}},
		{"sp", true, 1.7, 0.030, grids(400, 304,
			func(n float64) float64 { return 881.174*n*n*n - 4683.91*n*n + 11484.5*n - 19272.4 })},
	}
}

const mib = 1 << 20

// grids are the problems of BT, LU and SP: grids of 64³, 102³ and 162³ points,
// some steps, bytes of arrays a point, and the operations of one step.
func grids(steps, bytes float64, step func(n float64) float64) map[class]problem {
	grid := func(n float64) problem { return problem{step(n) * steps / 1e9, n * n * n * bytes / mib} }
	return map[class]problem{"A": grid(64), "B": grid(102), "C": grid(162)}
}

// cg has a sparse matrix of n rows: a double and a 4-byte column an element.
func cg(n, nonzeros, steps float64) problem {
	k := nonzeros * (nonzeros + 1)
	return problem{2 * steps * n * (3 + k + 25*(5+k) + 3) / 1e9, n * (nonzeros + 1) * (nonzeros + 1) * 12 / mib}
}

// ep makes 2^(m+1) random numbers with about 50 operations each, and no arrays.
func ep(m float64) problem { return problem{50 * math.Exp2(m+1) / 1e9, 1} }

// ft has n points: three complex arrays and one of doubles.
func ft(n, steps float64) problem {
	return problem{n * (14.8157 + 7.19641*math.Log(n) + (5.23518+7.21113*math.Log(n))*steps) / 1e9, n * 56 / mib}
}

// is sorts 2^m keys ten times, about 9.3 operations a key; three arrays of
// 4-byte keys, each half as long again as the keys.
func is(m float64) problem { return problem{9.3 * 10 * math.Exp2(m) / 1e9, math.Exp2(m) * 18 / mib} }

// mg has an n³ grid of doubles: two arrays on all levels (8/7) and one on the finest.
func mg(n, steps float64) problem {
	return problem{58 * n * n * n * steps / 1e9, n * n * n * 8 * (2*8.0/7 + 1) / mib}
}

// shape is a way to run a benchmark on the pool.
type shape struct {
	benchmark *benchmark
	class     class
	processes int
	nodes     int
}

// cores is what the job asks for on each node.
func (s shape) cores() int { return (s.processes + s.nodes - 1) / s.nodes }

// seconds is the run time: start-up, and operations over the speed of all cores.
func (s shape) seconds() float64 {
	b := s.benchmark
	efficiency := 1 / (1 + b.comm*(math.Log2(float64(s.processes))+2*math.Log2(float64(s.nodes))))
	return startup + b.size[s.class].gop/(b.rate*float64(s.processes)*efficiency)
}

// need is the memory the job needs on each node, in MiB: its share of the
// arrays and what each process has for itself.
func (s shape) need() float64 {
	share := float64(s.cores()) / float64(s.processes)
	return s.benchmark.size[s.class].memory*share*halo + float64(s.cores()*processMemory)
}

// needPerCore is the need in MiB a core.
func (s shape) needPerCore() float64 { return s.need() / float64(s.cores()) }

// shapes are all ways to run the benchmark on the given number of nodes, that
// fit and run from shortest to longest seconds. Powers of two go on four nodes
// instead of three.
func (b *benchmark) shapes(nodes int, shortest, longest float64) []shape {
	if nodes == 3 && !b.square {
		nodes = poolNodes
	}
	counts := []int{1, 2, 4, 8, 16, 32}
	if b.square {
		counts = []int{1, 4, 9, 16, 25}
	}
	var list []shape
	for _, c := range []class{"A", "B", "C"} {
		for _, processes := range counts {
			s := shape{b, c, processes, nodes}
			fits := processes >= nodes && s.cores() <= coresPerNode && s.need() <= nodeMemory
			even := b.square || processes%nodes == 0
			if fits && even && shortest <= s.seconds() && s.seconds() <= longest {
				list = append(list, s)
			}
		}
	}
	return list
}
