// Package setup puts this negotiator to work on a pool's central manager, beside HTCondor's own or in
// its place, and takes it away again. It does with HTCondor's own tools what an administrator would do
// by hand: one file in LOCAL_CONFIG_DIR, condor_off, condor_reconfig, condor_on; and it watches
// condor_status until the negotiator that is to work has made a cycle. If that does not happen in time,
// all is put back as it was.
//
// [Setup.To] does it. Whatever it refuses it refuses before anything has changed, or undoes it, with an
// error that is bad input ([cli.Bad]). The same call again changes nothing.
//
// Files: setup.go from one mode to another, and back if it fails; refuse.go what is looked at before;
// file.go the file and who wrote it; pool.go HTCondor's tools; report.go what is told.
package setup
