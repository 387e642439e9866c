// Package policyv1 is the protocol between a host and a policy in a process of its own, generated
// from policy.proto, whose comments define the messages.
package policyv1
