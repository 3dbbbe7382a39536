import HaulKit
import Testing

/// Whether a machine has a network, by its routing table.
@Suite struct RouteTableTests {
  private static let title =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
  private static let nowhere = String(repeating: "0", count: 32)
  private static let loopback =
    "00000000000000000000000000000001 80 \(nowhere) 00 \(nowhere) 00000000 00000003 00000000 80200001       lo\n"
  private static let rejecting =
    "\(nowhere) 00 \(nowhere) 00 \(nowhere) ffffffff 00000001 00000000 00200200       lo\n"

  private func v6(_ destination: String, flags: String = "00000001", on interface: String) -> String
  {
    "\(destination) 40 \(Self.nowhere) 00 \(Self.nowhere) 00000100 00000001 00000000 \(flags)     \(interface)\n"
  }

  @Test func `Local, link-local and rejecting routes do not count as a network`() {
    #expect(!RouteTable.leadsOut(ipv4: "", ipv6: ""))
    #expect(!RouteTable.leadsOut(ipv4: Self.title, ipv6: Self.loopback + Self.rejecting))
    let linkLocal = v6("fe800000000000000000000000000000", on: "eth0")
    let groups = v6("ff000000000000000000000000000000", on: "eth0")
    #expect(!RouteTable.leadsOut(ipv4: Self.title, ipv6: linkLocal + groups))
    let selfGiven = "eth0\t0000FEA9\t00000000\t0001\t0\t0\t1000\t0000FFFF\t0\t0\t0\n"
    #expect(!RouteTable.leadsOut(ipv4: Self.title + selfGiven, ipv6: ""))
    let rejected = "*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0\n"
    #expect(!RouteTable.leadsOut(ipv4: Self.title + rejected, ipv6: ""))
  }

  @Test func `A route over an interface counts as a network, in either family`() {
    let way = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    #expect(RouteTable.leadsOut(ipv4: Self.title + way, ipv6: ""))
    let near = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    #expect(RouteTable.leadsOut(ipv4: Self.title + near, ipv6: ""))
    let global = v6("20010db8000000000000000000000000", on: "eth0")
    #expect(RouteTable.leadsOut(ipv4: Self.title, ipv6: Self.loopback + global))
    #expect(!RouteTable.leadsOut(ipv4: "", ipv6: v6(Self.nowhere, flags: "00200200", on: "eth0")))
  }

  @Test func `An unreadable routing table counts as no network`() {
    #expect(!RouteTable.leadsOut(ipv4: "\n\nx y\n", ipv6: "a b c\n\n"))
  }
}
