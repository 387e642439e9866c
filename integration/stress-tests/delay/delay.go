// Package delay is the call that the stress program inserts before each statement and that may
// sleep there. Where it sleeps, and for how long, depends only on the seed.
package delay

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Env is the environment variable with the seed and the fraction of places that sleep: "7/25".
// Processes that a test starts inherit it. Without it nothing sleeps.
const Env = "STRESS"

// visited is how many calls at one place (the number of a statement) may sleep; about half of them
// do. The limit lets loops make progress.
const visited = 32

var here = parse(os.Getenv(Env))

// Here sleeps if its place, which identifies a statement, is one of those that the seed chooses,
// and has not been visited too often.
//
// It is invisible to the race detector and counts without atomics, so that it orders nothing: two
// goroutines that meet here do not synchronize. A lost count does not matter.
//
//go:norace
func Here(place uint64) {
	if hash(here.seed^place) >= here.below {
		return
	}
	visits := &here.visits[place%uint64(len(here.visits))]
	if *visits >= visited {
		return
	}
	*visits++
	if pause := pauseAt(here.seed^place, uint64(*visits)); pause > 0 {
		sleep(pause)
	}
}

type delays struct {
	seed, below uint64        // places with hashes below it sleep
	visits      [1 << 16]byte // by place; some places share a counter
}

func parse(setting string) *delays {
	before, after, _ := strings.Cut(setting, "/")
	seed, err := strconv.ParseUint(before, 10, 64)
	every, err2 := strconv.ParseUint(after, 10, 64)
	if err != nil || err2 != nil || every == 0 {
		return &delays{}
	}
	return &delays{seed: hash(seed), below: math.MaxUint64 / every}
}

// pauseAt returns how long a call of [Here] sleeps at its n-th visit of a place: 5 to 65 ms, or not
// at all.
func pauseAt(place, visit uint64) time.Duration {
	dice := hash(place + visit)
	if dice%2 == 0 {
		return 0
	}
	return 5*time.Millisecond + time.Duration(dice/2)%(60*time.Millisecond)
}

// hash is the finalizer of SplitMix64.
func hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
