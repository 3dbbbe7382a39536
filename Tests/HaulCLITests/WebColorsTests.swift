import Foundation
import Testing

/// Contrast of the page's colours, by the rules of WCAG 2.2 AA, from the roles in its style sheet.
@Suite struct WebColorsTests {
  private struct Color {
    let red, green, blue: Double

    /// WCAG's relative luminance.
    var luminance: Double {
      let linear = [red, green, blue].map {
        $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4)
      }
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    func contrast(to other: Color) -> Double {
      let (low, high) = (min(luminance, other.luminance), max(luminance, other.luminance))
      return (high + 0.05) / (low + 0.05)
    }
  }

  /// Light and dark, by role.
  private let roles: [String: [Color]]

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let sheet = try String(
      contentsOf: root.appending(path: "Sources/CHaulPage/page/style.css"), encoding: .utf8)
    let pattern = /--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)/
    let pairs = sheet.matches(of: pattern).map { match in
      (String(match.output.1), [match.output.2, match.output.3].map(Self.color))
    }
    roles = Dictionary(uniqueKeysWithValues: pairs)
  }

  private static func color(_ hex: Substring) -> Color {
    let number = Int(hex, radix: 16) ?? 0
    return Color(
      red: Double(number >> 16) / 255, green: Double(number >> 8 & 255) / 255,
      blue: Double(number & 255) / 255)
  }

  private func contrasts(_ front: String, _ back: String) throws -> [Double] {
    zip(try #require(roles[front]), try #require(roles[back])).map { $0.contrast(to: $1) }
  }

  @Test func `text has a contrast of 4.5 on every surface it is on, light and dark`() throws {
    for back in ["surface", "raised", "hover", "selected", "bad-surface"] {
      for contrast in try contrasts("text", back) { #expect(contrast >= 4.5, "text on \(back)") }
    }
    for front in ["quiet", "bad", "good", "wait", "accent"] {
      for back in ["surface", "raised", "selected"] {
        for contrast in try contrasts(front, back) {
          #expect(contrast >= 4.5, "\(front) on \(back)")
        }
      }
    }
    for contrast in try contrasts("on-accent", "accent") { #expect(contrast >= 4.5) }
    for contrast in try contrasts("quiet", "hover") { #expect(contrast >= 4.5) }
  }

  @Test func `edges of controls, bars and the focus have a contrast of 3`() throws {
    for front in ["edge", "accent", "good", "bad"] {
      for back in ["surface", "raised"] {
        for contrast in try contrasts(front, back) {
          #expect(contrast >= 3, "\(front) on \(back)")
        }
      }
    }
    for front in ["accent", "good", "bad"] {
      for contrast in try contrasts(front, "line") { #expect(contrast >= 3, "\(front) on line") }
    }
  }
}
