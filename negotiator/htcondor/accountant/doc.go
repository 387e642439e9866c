// Package accountant implements the accounting of an HTCondor pool as its users know it: user
// priorities, accounting groups with quotas, concurrency limits, accumulated usage, and the
// commands of condor_userprio. It uses no network and reads no clock.
//
// # A tour
//
// [Open] opens the [Accountant] in a state file (package statefile), with [Settings] that
// [ParseSettings] reads from the pool's configuration; [New] starts one that no file keeps, for a
// simulated pool. A cycle then goes
//
//	a.Update(now, use)                 // what runs: priorities age, usage grows
//	a.Divide(total, waiting)           // groups' quotas, submitters' shares
//	b := a.Bounds(limits)              // what jobs take of limits, and which can bind
//	order.Open(waiting)                // fair share: order.Key is the queue's order
//	… the cycle starts jobs …
//	a.Update(now, use)                 // what they use counts from here
//	a.ActiveAds()                      // for the collector
//
// A submitter is named as in its submitter ad, alice@domain or group.alice@domain; the name tells
// its group. Weights are slot weights: by default the cpus of the slots that jobs have. Lower priorities are
// better; the effective priority is the real priority times the factor.
//
// [Accountant.Standing] and [Accountant.HasRoom] say what a submitter has and may have, for preemption
// (standing.go). [Share] computes how groups and submitters share, and [Order] makes it a queue's order; [Line] keeps that
// order from cycle to cycle where there are no groups, as in simulations. [Limits]
// are the pool's concurrency limits, [ParseLimits] reads those of a job; [Bounds] are all limits of a
// cycle, room.go what they have for jobs whose limits depend on
// the slot, and uses.go what their owners are told. inturn.go orders submitters who do not share.
// leases.go are limits that are set for a time.
//
// statement.go tells all that an accounting holds, and takes it over from another one. elsewhere.go shares priorities
// between negotiators.
//
// A cycle looks only at accounts of submitters that use something or wait; all others age when they
// are read (books.go). Whoever asks gets an answer that is made once for all until something
// changes (report.go).
//
// # Commands
//
// These are the commands that condor_userprio sends to a negotiator, and the methods that answer
// them. A payload is one message; int and double are CEDAR's. Commands without a reply are answered
// by closing the connection, so their errors can only be logged. Levels of authorization are A
// (ADMINISTRATOR), W (WRITE), R (READ) and N (NEGOTIATOR).
//
//	cmd  name                  payload                  level  reply                 method
//	449  SET_PRIORITY          string name, double      A      none                  SetPriority
//	451  GET_PRIORITY          none                     R      ad without types      Report(false)
//	458  RESET_USAGE           string name              A      none                  ResetUsage
//	459  SET_PRIORITYFACTOR    string name, double      W (1)  ad (2)                SetFactor
//	460  RESET_ALL_USAGE       none                     A      none                  ResetAll
//	463  GET_RESLIST           string name              R      ad without types (3)  —
//	482  DELETE_USER           string name              A      none                  Delete
//	494  SET_ACCUMUSAGE        string name, double (4)  A      none                  SetUsage
//	495  SET_BEGINTIME         string name, int (5)     A      none                  SetBegin
//	496  SET_LASTTIME          string name, int (5)     A      none                  SetLast
//	514  GET_PRIORITY_ROLLUP   none                     R      ad without types      Report(true)
//	525  SET_CEILING           string name, int         A      none                  SetCeiling
//	530  SET_FLOOR             string name, int         A      none                  SetFloor
//	532  MANAGE_CEILING        ad (6)                   A      ad (6)                Lease, CancelLease
//	533  MANAGE_FLOOR          ad (6)                   A      ad (6)                Lease, CancelLease
//	534  MANAGE_PRIORITY_FACTOR ad (6)                  A      ad (6)                Lease, CancelLease
//	 77  UPDATE_ACCOUNTING_AD  ad, from us              N      to the collector      ActiveAds
//	 78  QUERY_ACCOUNTING_ADS  query ad                 R      (int 1, ad)…, int 0   Accounts
//
// (1) Users who are not ADMINISTRATOR are authorized only if the user map
// PRIORITY_FACTOR_AUTHORIZATION gives a prefix of the name. (2) ErrorCode, 0 on success, and
// ErrorString, for clients since 8.9.9; older ones get no reply. (3) Name1, StartTime1, …: the
// submitter's slots and since when; only the pool adapter knows these. (4) Slot-weight seconds. (5)
// Unix times. Version 23.9 shows the reply to 78 as condor_userprio's table, and the reply to 451
// with -legacy -long. (6) Since 25.11: Submitter, Action (set or
// cancel), and to set Duration in seconds and Ceiling, Floor or PriorityFactor; the answer has Success
// and ErrorString.
//
// As in HTCondor, a set command creates the account of an unknown submitter, and Delete of an
// unknown one is not an error. Unlike HTCondor, which raises negative priorities and factors below
// 1 to the smallest valid value, this package returns an error for them.
package accountant
