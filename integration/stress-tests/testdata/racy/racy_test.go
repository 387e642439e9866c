// Package racy has a test that loses a race: the stress program is tested with it.
package racy

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestReadsTooEarly does not wait for the goroutine. On one core it usually passes nevertheless,
// because the goroutine runs to its end when the test yields, unless it sleeps.
func TestReadsTooEarly(t *testing.T) {
	runtime.GOMAXPROCS(1)
	var counter atomic.Int64
	go func() {
		counter.Add(1)
	}()
	runtime.Gosched()
	if counter.Load() != 1 {
		t.Fatal("the goroutine has not counted")
	}
}
