// As many requests at once as there are slots; each waits 50 ms for something else.
//
//	slots -listen 127.0.0.1:8000 -slots 4 -idle 60
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8000", "address")
	slots := flag.Int("slots", 4, "requests at once")
	idle := flag.Int("idle", 60, "seconds for which a connection without a request is kept")
	flag.Parse()
	free := make(chan struct{}, *slots)
	hello := func(w http.ResponseWriter, r *http.Request) {
		free <- struct{}{}
		time.Sleep(50 * time.Millisecond)
		<-free
		fmt.Fprint(w, "hello\n")
	}
	server := &http.Server{
		Addr:        *listen,
		Handler:     http.HandlerFunc(hello),
		IdleTimeout: time.Duration(*idle) * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}
