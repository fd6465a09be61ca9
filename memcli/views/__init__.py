"""Reports as text, tables, JSON and pages."""
