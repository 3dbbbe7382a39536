/// The first tables. `ANY` columns hold text, or its bytes if it contains U+0000.
enum SchemaV1 {
  static let statements = [members, byRank, byStatus, byGroup, byIdentifier] + parts + logs

  /// Values that change often, and all that `open` reads: small rows in the order of adding, so
  /// that a batch writes whole pages. Ids are random: each batch would change pages all over an
  /// index of them. `RowNumbers` maps ids to rows instead, and ensures that ids are unique.
  private static let members = """
    CREATE TABLE members (
      seq INTEGER PRIMARY KEY,
      id INTEGER NOT NULL,
      status INTEGER NOT NULL,
      desired INTEGER NOT NULL,
      rank INTEGER NOT NULL,
      priority INTEGER NOT NULL,
      paused_by TEXT,
      starts_over INTEGER NOT NULL,
      has_run INTEGER NOT NULL,
      retry_at REAL,
      plain_end INTEGER,
      host ANY,
      group_name ANY,
      identifier ANY,
      dependency_policy INTEGER NOT NULL,
      is_step INTEGER NOT NULL,
      is_idempotent INTEGER NOT NULL,
      dependencies INTEGER NOT NULL
    ) STRICT
    """
  private static let byRank = "CREATE INDEX members_by_rank ON members (rank)"
  /// An index of rare states only: cancelling a whole list writes no index.
  private static let byStatus = """
    CREATE INDEX members_by_status ON members (status, rank) WHERE status = 1 OR status = 2
    """
  private static let byGroup = """
    CREATE INDEX members_by_group ON members (group_name, rank) WHERE group_name IS NOT NULL
    """
  private static let byIdentifier = """
    CREATE UNIQUE INDEX members_by_identifier ON members (identifier)
      WHERE identifier IS NOT NULL
    """

  private static let parts = [
    """
    CREATE TABLE requests (
      member INTEGER PRIMARY KEY REFERENCES members (seq) ON DELETE CASCADE,
      address TEXT,
      target ANY,
      form TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE results (
      member INTEGER PRIMARY KEY REFERENCES members (seq) ON DELETE CASCADE,
      form TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE dependencies (
      member INTEGER NOT NULL REFERENCES members (seq) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      id INTEGER,
      identifier ANY,
      PRIMARY KEY (member, position)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX dependencies_by_id ON dependencies (id) WHERE id IS NOT NULL",
    """
    CREATE TABLE programs (
      member INTEGER PRIMARY KEY REFERENCES members (seq) ON DELETE CASCADE,
      pid INTEGER NOT NULL,
      start INTEGER NOT NULL,
      boot TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE secrets (
      member INTEGER PRIMARY KEY REFERENCES members (seq) ON DELETE CASCADE,
      address TEXT,
      user ANY,
      password ANY,
      fields TEXT
    ) STRICT
    """,
  ]

  private static let logs = [
    """
    CREATE TABLE events (
      number INTEGER PRIMARY KEY,
      id INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      detail ANY
    ) STRICT
    """,
    "CREATE TABLE batches (key ANY PRIMARY KEY, ids BLOB NOT NULL) STRICT",
  ]
}
