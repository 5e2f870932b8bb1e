// A program written for Consul, with HashiCorp's own client: what it says on standard output is what the tests read.
// The address is CONSUL_HTTP_ADDR, as for every program of theirs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/consul/api"
)

func main() {
	client, err := api.NewClient(api.DefaultConfig())
	check(err)
	arguments := os.Args[2:]
	switch os.Args[1] {
	case "work":
		work(client, arguments[0], arguments[1], milliseconds(arguments[2]))
	case "lock":
		lock(client, arguments[0], arguments[1])
	case "semaphore":
		semaphore(client, arguments[0], number(arguments[1]), number(arguments[2]), milliseconds(arguments[3]), arguments[4])
	case "keys":
		keys(client, arguments[0])
	case "destroy":
		_, err := client.Session().Destroy(arguments[0], nil)
		check(err)
	default:
		panic("unknown command " + os.Args[1])
	}
}

// A worker of mutually exclusive ones: works if it gets the lock, and says so.
func work(client *api.Client, key string, ttl string, length time.Duration) {
	session, _, err := client.Session().Create(&api.SessionEntry{TTL: ttl, Behavior: api.SessionBehaviorDelete, LockDelay: time.Second}, nil)
	check(err)
	fmt.Println("session", session)
	done := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- client.Session().RenewPeriodic(ttl, session, nil, done) }()
	acquired, _, err := client.KV().Acquire(&api.KVPair{Key: key, Value: []byte(session), Session: session}, nil)
	check(err)
	if acquired {
		fmt.Println("I can work")
		select {
		case <-time.After(length):
			fmt.Println("done")
		case <-interrupted():
			fmt.Println("interrupted")
		}
	} else {
		fmt.Println("I can NOT work")
	}
	// Ends the session as well.
	close(done)
	check(<-ended)
}

// Holds a lock until it is interrupted, or loses it.
func lock(client *api.Client, key string, ttl string) {
	lock, err := client.LockOpts(&api.LockOptions{Key: key, Value: []byte("held"), SessionTTL: ttl, LockDelay: time.Second})
	check(err)
	stop := interrupted()
	abort := make(chan struct{})
	go func() { <-stop; close(abort) }()
	lost, err := lock.Lock(abort)
	check(err)
	if lost == nil {
		fmt.Println("gave up")
		return
	}
	fmt.Println("locked")
	select {
	case <-lost:
		fmt.Println("lost")
	case <-abort:
		check(lock.Unlock())
		fmt.Println("unlocked")
	}
}

// So many contenders for so many slots, each a while in its turn; their comings and goings are appended to a file.
func semaphore(client *api.Client, prefix string, limit int, contenders int, length time.Duration, log string) {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	var all sync.WaitGroup
	for range contenders {
		all.Add(1)
		go func() {
			defer all.Done()
			semaphore, err := client.SemaphorePrefix(prefix, limit)
			check(err)
			lost, err := semaphore.Acquire(nil)
			check(err)
			_, err = file.WriteString("in\n")
			check(err)
			select {
			case <-time.After(length):
			case <-lost:
				fmt.Println("lost")
			}
			_, err = file.WriteString("out\n")
			check(err)
			check(semaphore.Release())
		}()
	}
	all.Wait()
	fmt.Println("all done")
}

// Every verb on keys once.
func keys(client *api.Client, prefix string) {
	kv := client.KV()
	must := func(done bool, _ *api.WriteMeta, err error) {
		check(err)
		if !done {
			panic("refused")
		}
	}
	_, err := kv.Put(&api.KVPair{Key: prefix + "a", Value: []byte{0, 255, 1}, Flags: 1<<64 - 1}, nil)
	check(err)
	pair, meta, err := kv.Get(prefix+"a", nil)
	check(err)
	must(kv.CAS(&api.KVPair{Key: prefix + "a", Value: []byte("b"), ModifyIndex: pair.ModifyIndex}, nil))
	stale, _, err := kv.CAS(&api.KVPair{Key: prefix + "a", Value: []byte("c"), ModifyIndex: pair.ModifyIndex}, nil)
	check(err)
	ok, answer, _, err := kv.Txn(api.KVTxnOps{
		{Verb: api.KVSet, Key: prefix + "b/c", Value: []byte("1")},
		{Verb: api.KVSet, Key: prefix + "b/d", Value: []byte("2")},
		{Verb: api.KVGet, Key: prefix + "a"},
	}, nil)
	check(err)
	names, _, err := kv.Keys(prefix, "/", nil)
	check(err)
	must(kv.DeleteCAS(&api.KVPair{Key: prefix + "absent", ModifyIndex: 7}, nil))
	_, err = kv.DeleteTree(prefix, nil)
	check(err)
	rest, _, err := kv.List(prefix, nil)
	check(err)
	print(map[string]any{
		"value": pair.Value, "flags": strconv.FormatUint(pair.Flags, 10), "index": meta.LastIndex == pair.ModifyIndex,
		"stale": stale, "txn": ok, "read": string(answer.Results[2].Value), "names": names, "rest": len(rest),
	})
}

func print(value any) {
	text, err := json.Marshal(value)
	check(err)
	fmt.Println(string(text))
}

func interrupted() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func milliseconds(text string) time.Duration {
	return time.Duration(number(text)) * time.Millisecond
}

func check(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}
