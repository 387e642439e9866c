// Package accountlog reads and writes the file in which HTCondor's own negotiator keeps its
// accounting: Accountantnew.log in the spool folder (ACCOUNTANT_DATABASE_FILE). It uses no network
// and reads no clock.
//
// # The format
//
// The file is a log of changes to ads, a line each (src/condor_utils/classad_log.cpp and log.cpp),
// which begins with a number:
//
//	101 KEY * *              an ad begins
//	102 KEY                  it ends
//	103 KEY ATTRIBUTE VALUE  an attribute is set, to an expression
//	104 KEY ATTRIBUTE        it is deleted
//	105, 106                 a transaction begins, and ends
//	107 N CreationTimestamp T  the first line: how often the log was compacted, and when it began
//
// A transaction counts once it has ended. What the accountant
// (src/condor_negotiator.V6/Accountant.cpp) keeps in it has these keys:
//
//	Accountant.      LastUpdateTime
//	Customer.NAME    of a submitter or a group: Priority, PriorityFactor, Ceiling, Floor, ResourcesUsed,
//	                 WeightedResourcesUsed, HierWeightedResourcesUsed (groups), AccumulatedUsage,
//	                 WeightedAccumulatedUsage, UnchargedTime, WeightedUnchargedTime, BeginUsageTime,
//	                 LastUsageTime; CeilingLeaseExpiration, CeilingPreLeaseValue since 25.11,
//	                 the same of Floor and PriorityFactor since 25.12
//	Resource.NAME    a match: RemoteUser, SlotWeight, StartTime
//
// # A tour
//
// read.go reads the lines into a [Log]; statement.go makes an [accountant.Statement] of it;
// write.go writes one as a log.
package accountlog
