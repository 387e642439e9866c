// Package policyv1 is the protocol between a host and a policy in a process of
// its own, generated from policy.proto, whose comments tell what the messages
// mean.
package policyv1
