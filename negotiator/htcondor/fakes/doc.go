// Package fakes has a collector, a schedd and a broker for tests: they speak HTCondor's protocol on a real
// socket, hold ads that a test gives them as text, and record what they receive.
//
//	c := fakes.NewCollector(t)
//	c.Set("Machine", "Name = \"slot1@n1\"\nCpus = 8")
//	s := fakes.NewSchedd(t, "schedd@test")
//	s.SetJobs("ClusterId = 1\nProcId = 0\nJobStatus = 1")
//
// They trust everybody, so clients need no methods. [Daemon.Before] makes them slow, silent or
// broken, and [Daemon.Hide] reachable through a broker alone.
package fakes
