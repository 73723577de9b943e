package dev

import (
	"net"
	"strconv"

	"holdfast/internal/config"
	"holdfast/internal/devstack/child"
)

func devPorts(cfg config.Config) []child.Port {
	ports := []child.Port{
		{Number: portOf(cfg.Ingress.Addr), Purpose: "webhooks", Change: "HOLDFAST_INGRESS_ADDR=127.0.0.1:PORT"},
		{Number: portOf(cfg.Operator.Addr), Purpose: "operators", Change: "HOLDFAST_OPERATOR_ADDR=127.0.0.1:PORT"},
	}
	if cfg.Temporal.Address == "" {
		ports = append(ports,
			child.Port{Number: int(cfg.Dev.TemporalPort), Purpose: "Temporal", Change: "HOLDFAST_DEV_TEMPORAL_PORT=PORT"},
			child.Port{Number: int(cfg.Dev.TemporalUIPort), Purpose: "Temporal Web", Change: "HOLDFAST_DEV_TEMPORAL_UI_PORT=PORT"},
		)
	}
	if !cfg.Database.URL.IsSet() && cfg.Dev.PostgresPort != 0 {
		ports = append(ports, child.Port{
			Number: int(cfg.Dev.PostgresPort), Purpose: "PostgreSQL", Change: "HOLDFAST_DEV_POSTGRES_PORT=PORT",
		})
	}
	return ports
}

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}
