package dev

import (
	"fmt"
	"net"
	"strconv"

	"holdfast/internal/config"
	"holdfast/internal/devstack/child"
)

func devPorts(cfg config.Config) []child.Port {
	ports := []child.Port{
		devPort(portOf(cfg.Ingress.Addr), "webhooks", "HOLDFAST_INGRESS_ADDR=127.0.0.1:%d"),
		devPort(portOf(cfg.Operator.Addr), "operators", "HOLDFAST_OPERATOR_ADDR=127.0.0.1:%d"),
	}
	if cfg.Temporal.Address == "" {
		ports = append(ports,
			devPort(int(cfg.Dev.TemporalPort), "Temporal", "HOLDFAST_DEV_TEMPORAL_PORT=%d"),
			devPort(int(cfg.Dev.TemporalUIPort), "Temporal Web", "HOLDFAST_DEV_TEMPORAL_UI_PORT=%d"),
		)
	}
	if !cfg.Database.URL.IsSet() && cfg.Dev.PostgresPort != 0 {
		ports = append(ports, devPort(int(cfg.Dev.PostgresPort), "PostgreSQL", "HOLDFAST_DEV_POSTGRES_PORT=%d"))
	}
	return ports
}

// devPort proposes another port in case of a conflict, which is rarely in use, too.
func devPort(number int, purpose, change string) child.Port {
	other := number + 10_000
	if other > 65_535 {
		other = number - 10_000
	}
	return child.Port{Number: number, Purpose: purpose, Change: fmt.Sprintf(change, other)}
}

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}
