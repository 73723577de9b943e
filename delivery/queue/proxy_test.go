package queue_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// eagerProxy is an HTTP proxy that sends what the target says first in one packet with its own answer.
func eagerProxy(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go tunnelEagerly(conn)
		}
	}()
	return listener.Addr().String()
}

func tunnelEagerly(client net.Conn) {
	defer func() { _ = client.Close() }()
	read := bufio.NewReader(client)
	request, err := http.ReadRequest(read)
	if err != nil {
		return
	}
	target, err := net.Dial("tcp", request.Host)
	if err != nil {
		return
	}
	defer func() { _ = target.Close() }()
	first := make([]byte, 4096)
	n, _ := target.Read(first)
	_, _ = client.Write(append([]byte("HTTP/1.1 200 OK\r\n\r\n"), first[:n]...))
	go func() { _, _ = io.Copy(target, read) }()
	_, _ = io.Copy(client, target)
}
