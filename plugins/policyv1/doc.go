// Package policyv1 is the protocol between a host and a policy in a process of its own, generated
// from policy.proto, whose comments define the messages.
package policyv1

// Name is the name of the protocol, with its version.
func Name() string { return string(File_policy_proto.Package()) }
